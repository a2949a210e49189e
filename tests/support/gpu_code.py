"""Kernels compiled for a GPU, on a machine without GPUs."""

import re

import pytest

pytest.importorskip("numba_cuda", reason="numba-cuda is not installed")

from pennympi.compile.options import BOUNDS, KernelOptions
from pennympi.cuda.compiler.compile import Target, _assembled, entry
from pennympi.cuda.compiler.gpu import ptx, without_device

HOPPER, AMPERE = (9, 0), (8, 0)


def ptx_of(kernel, name="kernel", cc=HOPPER, remote=False, **options):
    """A kernel as PTX.  remote: NVSHMEM carries its messages;  options: those of ``KernelOptions``"""
    kernel_options = KernelOptions(**options)
    function, signature = entry(kernel, name, kernel_options, Target(cc, remote))
    with without_device(cc):
        return ptx(function, signature, cc, kernel_options.bounds or BOUNDS, kernel_options.fused)


def frame_bytes(code):
    """Bytes of local memory of a kernel of PTX, from its EIATTR_FRAME_SIZE."""
    counts = re.findall(rb"\x04\x11\x08\x00.{4}(.{4})", _assembled(code, HOPPER), re.DOTALL)
    return max(int.from_bytes(count, "little") for count in counts)
