"""The compiler of GPU kernels, numba-cuda: all that this folder takes of it, and all that is private in it."""

import threading
from functools import partial
from types import FunctionType, SimpleNamespace
from typing import Any
from unittest import mock

import numba
import numpy as np

with mock.patch.object(np, "row_stack", np.vstack, create=True):  # which arraymath takes, and NumPy 2.5 lacks
    import numba.cuda.np.arraymath
    import numba_cuda
    from numba import cuda
    from numba.cuda import cgutils, dispatcher, types  # dispatcher is private, as nvvm
    from numba.cuda.cudadrv import nvvm
    from numba.cuda.extending import intrinsic

from ...compile.options import BOUNDS, LaunchBounds

__all__ = ["VERSIONS", "cgutils", "cuda", "device_function", "intrinsic", "ptx", "types", "without_device"]

VERSIONS = numba.__version__, numba_cuda.__version__
device_function = partial(cuda.jit, device=True, forceinline=True)
_fusing = threading.RLock()  # Numba's compiler is one for all threads


def without_device(cc: tuple[int, int]) -> Any:
    """A context in which Numba, which asks the device for its compute capability, gets ``cc`` and needs no device."""
    return mock.patch.object(dispatcher, "get_current_device", lambda: SimpleNamespace(compute_capability=cc))


def ptx(
    function: FunctionType, signature: Any, cc: tuple[int, int], bounds: LaunchBounds = BOUNDS, fused: bool = True
) -> str:
    """The kernel as PTX.  Needs no GPU.  fused: see ``KernelOptions``"""
    given = bounds if bounds.min_blocks else bounds.max_threads
    make = partial(cuda.compile, device=False, cc=cc, output="ptx", abi="numba", launch_bounds=given)
    if fused:
        return make(function, signature)[0]
    with _fusing, mock.patch.object(nvvm, "compile_ir", partial(nvvm.compile_ir, fma=False)):  # Numba has no option
        return make(function, signature)[0]
