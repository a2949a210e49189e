"""The time of a start, and the line that is printed if it is long: the library's timings, and its imports."""

import os
import sys
import time
from typing import NamedTuple

import pytest
from launch import launch
from mpi4py import MPI
from settled import settled

import pennympi
from pennympi.kernels.block import load, real, store
from pennympi.wall_time import timed


def test_the_parts_of_the_wall_time_do_not_overlap():
    before = pennympi.timings()
    with timed("test: outer"):
        time.sleep(0.02)
        with timed("test: inner"):
            time.sleep(0.05)
        with timed("test: inner"):
            pass
    spent = {part: s - before.get(part, 0.0) for part, s in pennympi.timings().items()}
    assert 0.05 <= spent["test: inner"] < 0.5
    assert 0.02 <= spent["test: outer"] < 0.05 + 0.5
    assert spent["test: outer"] < spent["test: inner"] + 0.4
    names = list(spent)
    assert names.index("test: outer") < names.index("test: inner"), "listed as they began"


LOADED = """
import sys
from pennympi.compile.cache import made_once
import pennympi
made_once("a", ("b",), lambda: b"c")
print(sorted(pennympi.timings()))
print([name for name in ("numba", "h5py", "matplotlib", "llvmlite") if name in sys.modules])
"""


def test_importing_the_library_loads_no_compiler(tmp_path):
    ended = launch(1, "-c", LOADED, command=[sys.executable], env={"PENNYMPI_CACHE_DIR": str(tmp_path / "cache")})
    parts, modules = ended.output.splitlines()
    assert parts == "['kernels: compiled', 'kernels: compiled by another process', 'kernels: found on disk']", ended
    assert modules == "[]"


def test_compiling_takes_kernels_only():
    with pennympi.init(MPI.COMM_SELF, backend="host", heap_bytes=1 << 20) as team:
        with pytest.raises(TypeError, match=r"compile takes what team.kernel\(\) returned, not function"):
            team.compile([test_compiling_takes_kernels_only])


class Scaled(NamedTuple):
    """Two words and a number that is no int."""

    x: int
    n: int
    factor: float


def scale(ctx, scaled: Scaled, shift: float, y):
    for i in range(scaled.n):
        store(y, i, real(scaled.factor) * load(scaled.x, i) + real(shift))


def test_a_kernel_is_compiled_before_its_first_launch(monkeypatch):
    with pennympi.init(MPI.COMM_SELF, backend="host", heap_bytes=1 << 20) as team:
        kernel, again = team.kernel(scale, "float64"), team.kernel(scale, "float64")
        team.compile([kernel, again])
        assert list(kernel._compiled) == list(again._compiled) == ["iiffi"]
        x, y = team.full(4, 3, "float64"), team.zeros(4, "float64")
        monkeypatch.setattr(type(team._backend.compiler), "kernel", None)  # nothing may be compiled from here on
        kernel(1, Scaled(x.ctypes.data, 4, 0.5), 0.25, y)
        assert y.tolist() == [1.75] * 4


REFRESHED = """
from numba.core.registry import cpu_target
from pennympi.host.runtime import compile as host
from pennympi.kernels import rma
refreshed = []
known = cpu_target.target_context.refresh
cpu_target.target_context.refresh = lambda: refreshed.append(1) or known()
host.compiled(rma.wait_signal, None, "iii")
print(len(refreshed))
"""


def test_machine_code_from_the_cache_needs_no_registries_of_numba(tmp_path):
    """These modules take longer to load than the rest of a start."""
    for _ in ("made", "loaded"):
        env = {"PENNYMPI_CACHE_DIR": str(tmp_path / "cache")}
        ended = launch(1, "-c", REFRESHED, command=[sys.executable], env=env, limit_s=120)
        assert ended.rc == 0, ended.output
    assert ended.output == "0\n"


def test_pes_that_share_a_core_are_named_once():
    core = min(os.sched_getaffinity(0))
    code = f"""
import os
os.sched_setaffinity(0, {{{core}}})
import pennympi
with pennympi.init() as team, pennympi.init():
    team.barrier()
"""
    ended = launch(2, "-c", code, env=settled(2, PENNYMPI_BACKEND="host"))
    lines = [line for line in ended.output.splitlines() if "compiling" not in line]
    assert ended.rc == 0 and lines == ["pennympi: 2 PEs share 1 core: times mean nothing"], ended.output
