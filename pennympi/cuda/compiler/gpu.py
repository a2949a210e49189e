"""numba-cuda, the compiler of GPU kernels: everything that this folder uses of it, including its private parts."""

import threading
from functools import partial
from types import FunctionType, SimpleNamespace
from typing import Any
from unittest import mock

import numba
import numpy as np

with mock.patch.object(np, "row_stack", np.vstack, create=True):  # arraymath needs it, and NumPy 2.5 lacks it
    import numba.cuda.np.arraymath
    import numba_cuda
    from numba import cuda
    from numba.cuda import cgutils, dispatcher, types  # dispatcher is private, as is nvvm
    from numba.cuda.cudadrv import nvvm
    from numba.cuda.extending import intrinsic

from ...compile.options import BOUNDS, LaunchBounds

__all__ = ["VERSIONS", "cgutils", "cuda", "device_function", "intrinsic", "ptx", "types", "without_device"]

VERSIONS = numba.__version__, numba_cuda.__version__
device_function = partial(cuda.jit, device=True, forceinline=True)
_fusing = threading.RLock()  # all threads share Numba's compiler


def without_device(cc: tuple[int, int]) -> Any:
    """A context without a device, in which Numba gets ``cc`` when it asks for the compute capability."""
    return mock.patch.object(dispatcher, "get_current_device", lambda: SimpleNamespace(compute_capability=cc))


def ptx(
    function: FunctionType, signature: Any, cc: tuple[int, int], bounds: LaunchBounds = BOUNDS, fused: bool = True
) -> str:
    """The kernel as PTX.  Needs no GPU.  fused: see ``KernelOptions``"""
    launch_bounds = bounds if bounds.min_blocks else bounds.max_threads
    make = partial(cuda.compile, device=False, cc=cc, output="ptx", abi="numba", launch_bounds=launch_bounds)
    if fused:
        return make(function, signature)[0]
    with _fusing, mock.patch.object(nvvm, "compile_ir", partial(nvvm.compile_ir, fma=False)):  # there is no public option
        return make(function, signature)[0]
