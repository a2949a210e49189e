"""``device_function``, which compiles functions that only kernels call, by private parts of Numba's compiler for CPUs."""

import ctypes
import sys
from functools import partial
from typing import Any

import numba
from numba import _dynfunc
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler

OPTIONS = {"nogil": True, "error_model": "numpy"}
_REFUSES = ctypes.cast(ctypes.pythonapi.PyErr_BadArgument, ctypes.c_void_p).value


class _InnerLibrary(JITCodeLibrary):
    """The LLVM IR of a function and its callees, without machine code."""

    def _finalize_final_module(self) -> None:
        self._finalized = True


class _Inner(Compiler):
    """Compiles to LLVM IR alone: machine code and wrappers of each function would take half of the time of a kernel."""

    def __init__(self, typing: Any, target: Any, *options: Any):
        super().__init__(typing, target.subtarget(get_executable=_for_kernels), *options)

    def compile_extra(self, function: Any) -> Any:
        self.state.library = _InnerLibrary(self.state.targetctx.codegen(), function.__qualname__)
        return super().compile_extra(function)


def _for_kernels(library: Any, description: Any, environment: Any) -> Any:
    """The function that Python sees, which raises TypeError."""
    name = description.qualname
    return _dynfunc.make_function(sys.modules[__name__], name, "called by kernels", _REFUSES, environment, (library,))


_INNER = {"pipeline_class": _Inner, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
device_function = partial(numba.njit, **_INNER, **OPTIONS)
