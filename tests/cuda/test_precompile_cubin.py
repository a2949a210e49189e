"""``python -m pennympi precompile --arch sm_90`` on a machine without a GPU."""

import pytest

pytest.importorskip("numba_cuda", reason="numba-cuda is not installed")
from numba.cuda import dispatcher

import pennympi
from pennympi.command.ahead import Job, Machine, compile_one

HOPPER = Machine((9, 0))


def test_kernels_for_a_gpu_that_is_not_here(monkeypatch, tmp_path):
    monkeypatch.setattr(dispatcher, "get_current_device", None)  # which compile_one replaces for good
    monkeypatch.setenv("PENNYMPI_CACHE_DIR", str(tmp_path))
    before = pennympi.timings().get("kernels: compiled", 0.0)
    compile_one(HOPPER, Job("", 3, 2))
    once = pennympi.timings()["kernels: compiled"]
    assert once > before
    compile_one(HOPPER, Job("", 3, 4))
    assert pennympi.timings()["kernels: compiled"] == once, "it does not depend on the number of PEs"
    (folder,) = tmp_path.iterdir()
    (cubin,) = [file for file in folder.iterdir() if not file.name.endswith((".lock", ".part"))]
    assert "wait_signal" in cubin.name and "sm90" in cubin.name
    assert cubin.read_bytes()[32:36] == b"\x7fELF", "behind the digest"
