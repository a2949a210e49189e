"""Kernels that can't be compiled for a GPU, for which no GPU is needed: the compiler's message has the line."""

from types import SimpleNamespace

import pytest

pytest.importorskip("numba_cuda", reason="numba-cuda is not installed")

from numba.cuda import dispatcher
from wrong_kernels import WRONG, element

from pennympi.app_kernel import cannot_compile
from pennympi.arrays.dtypes import TABLE
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
    lines = {one.__code__.co_firstlineno + k for one in (kernel, element) for k in range(3)}
    assert what in said and any(f"wrong_kernels.py:{line} " in said for line in lines), said
