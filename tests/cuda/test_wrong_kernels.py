"""Kernels that can't be compiled for a GPU, for which no GPU is needed: one sentence, as on the host."""

from types import SimpleNamespace

import pytest

pytest.importorskip("numba_cuda", reason="numba-cuda is not installed")

from numba.cuda import dispatcher
from wrong_kernels import WRONG

from pennympi.arrays.dtypes import TABLE
from pennympi.compile.diagnosis import cannot_compile
from pennympi.compile.options import KernelOptions
from pennympi.cuda import compile as backend

HOPPER = (9, 0)


@pytest.mark.parametrize(("kernel", "what"), WRONG, ids=lambda one: getattr(one, "__name__", ""))
def test_a_text_that_cannot_be_compiled(kernel, what, monkeypatch):
    monkeypatch.setattr(dispatcher, "get_current_device", lambda: SimpleNamespace(compute_capability=HOPPER))
    with pytest.raises(Exception) as caught:  # noqa: PT011  # of many types
        options, target = KernelOptions(elements=TABLE["float32"]), backend.Target(HOPPER)
        backend.ptx(*backend.entry(kernel, "wrong", options, target), HOPPER)
    said = str(cannot_compile(kernel, caught.value))
    assert what in said and "wrong_kernels.py:" in said and "\n" not in said, said
    assert "load(x, i)" in said and "store(y, i, value)" in said, said
