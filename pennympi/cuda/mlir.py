"""The second compiler, numba-cuda-mlir: what of it is not as in numba-cuda, and all that is private in it.

docs/compilers.md says what it lacks, with a program each.
"""

import dis
import re
import threading
from collections.abc import Callable, Sequence
from functools import wraps
from types import FunctionType, SimpleNamespace
from typing import Any
from unittest import mock

import numba_cuda_mlir
from llvmlite import ir
from numba.core.cgutils import get_or_insert_function
from numba_cuda_mlir import cuda, tools
from numba_cuda_mlir import mlir_optimization as optimization
from numba_cuda_mlir._mlir import ir as mlir
from numba_cuda_mlir._mlir.passmanager import PassManager
from numba_cuda_mlir.descriptor import mlir_target
from numba_cuda_mlir.extending import intrinsic as _intrinsic
from numba_cuda_mlir.extending import lowering_registry, refresh_registries
from numba_cuda_mlir.lowering_utilities.context import get_context
from numba_cuda_mlir.mlir_compiler import compile_mlir
from numba_cuda_mlir.numba_cuda import types
from numba_cuda_mlir.numba_cuda.cudadrv import nvvm

from ..compile.options import BOUNDS, LaunchBounds
from .mlir_builder import Builder, Value, item_bytes
from .mlir_mended import mend

__all__ = ["VERSIONS", "cgutils", "cuda", "device_function", "intrinsic", "ptx", "types", "without_device"]

VERSIONS = ("mlir", numba_cuda_mlir.__version__)
_compiling = threading.RLock()
_records: set[type] = set()


def _llvmlite(t: Any) -> ir.Type:
    """A Numba type as llvmlite's."""
    if isinstance(t, types.Boolean):
        return ir.IntType(1)
    if isinstance(t, types.Integer):
        return ir.IntType(t.bitwidth)
    return {16: ir.HalfType(), 32: ir.FloatType(), 64: ir.DoubleType()}[t.bitwidth]


def _wrapped(t: Any, x: Any) -> Any:
    if isinstance(t, types.BaseTuple):
        return tuple(_wrapped(kind, one) for kind, one in zip(t, x, strict=True))
    return Value(x, _llvmlite(t))


def _unwrapped(b: Builder, x: Any) -> Any:
    return tuple(_unwrapped(b, one) for one in x) if type(x) is tuple else b.value(x)


class Context:
    """Numba's target context, as far as instructions use it."""

    get_value_type = staticmethod(_llvmlite)
    get_abi_sizeof = staticmethod(item_bytes)

    def __init__(self, lower: Any):
        self._lower = lower

    def get_dummy_value(self) -> None:
        return None

    def make_tuple(self, b: Builder, kind: Any, values: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(values)

    def cast(self, b: Builder, x: Any, of: Any, to: Any) -> Any:
        return _wrapped(to, self._lower.lower_cast(of, to, b.value(x)))


cgutils = SimpleNamespace(
    pack_array=lambda b, values: tuple(values),
    unpack_tuple=lambda b, values: list(values),
    get_or_insert_function=get_or_insert_function,
)


def intrinsic(function: Callable[..., Any]) -> Any:
    """``numba.cuda.extending.intrinsic``, by a ``Builder``."""

    @wraps(function)
    def typed(typing: Any, *args: Any) -> Any:
        signature, code = function(typing, *args)

        def lowered(lower: Any, target: Any, variables: Any, keywords: Any) -> None:
            given = [
                _wrapped(to, lower.lower_cast(lower.get_numba_type(variable.name), to, lower.load_var(variable)))
                for variable, to in zip(variables, signature.args, strict=True)
            ]
            b = Builder(lower.mlir_gpu_module)
            found = code(Context(lower), b, signature, given)
            lower.store_var(target, mlir.NoneType.get() if found is None else _unwrapped(b, found))

        return signature, lowered

    made = _intrinsic(typed)
    refresh_registries(target=False)  # the compiler looks for new ones only then
    return made


def _take_records(function: FunctionType) -> None:
    """Teach the compiler, which reads a NamedTuple's fields, to make those that a function's globals name."""
    found = {one for one in function.__globals__.values() if isinstance(one, type) and hasattr(one, "_fields")}
    for record in found - _records:
        _records.add(record)

        @lowering_registry.lower(record, types.VarArg(types.Any))
        def make(lower: Any, target: Any, arguments: Any, keywords: Any, fields: Any = record._fields) -> None:
            given = dict(zip(fields, arguments, strict=False)) | dict(keywords)
            cast = [
                lower.lower_cast(lower.get_numba_type(given[name].name), kind, lower.load_var(given[name]))
                for name, kind in zip(fields, lower.get_numba_type(target.name), strict=True)
            ]
            lower.store_var(target, tuple(cast))

    refresh_registries(typing=False)


def device_function(function: FunctionType) -> Any:
    """A device function.  LLVM inlines it; MLIR does where it returns a range, of which MLIR has no type."""
    _take_records(function)
    loops = any(one.opname == "GET_ITER" for one in dis.get_instructions(function))
    policy = "always" if "range" in function.__code__.co_names and not loops else "never"
    return cuda.jit(function, device=True, annotations_as_signatures=False, inline=policy)


mlir_target.ensure_initialized()
mend()


def without_device(cc: tuple[int, int]) -> Any:
    """A context in which the compiler, which asks the device for its compute capability, gets ``cc``."""
    return mock.patch.object(tools, "_cached_cc", cc)


def _mended(code: str) -> str:
    """LLVM's text with the one layout that NVVM takes, all functions inlined, and a barrier that no access passes."""
    code = code.replace("i64:64:64-f32", "i64:64:64-i128:128:128-f32")
    code = code.replace('call void asm sideeffect "bar.sync 0;", ""()', "call void @llvm.nvvm.barrier0()")
    code = re.sub(r"^define (?!ptx_kernel)(.*) \{$", r"define internal \1 alwaysinline {", code, flags=re.MULTILINE)
    return f"{code}\ndeclare void @llvm.nvvm.barrier0()\n"


def ptx(
    function: FunctionType, signature: Any, cc: tuple[int, int], bounds: LaunchBounds = BOUNDS, fused: bool = True
) -> str:
    """The kernel as PTX.  Needs no GPU.  fused: see ``KernelOptions``"""
    options = {"launch_bounds": bounds if bounds.min_blocks else bounds.max_threads}
    with _compiling, without_device(cc), get_context():
        made = compile_mlir(function, types.void, signature.args, options)
        module = made.metadata["mlir_module"]
        PassManager.parse(optimization.get_base_pipeline()).run(module.operation)
        made.metadata["mlir_module_optimized"] = str(module)
        code = _mended(optimization.get_llvmir(made))
    unit = nvvm.CompilationUnit({"arch": f"compute_{cc[0]}{cc[1]}", "fma": fused})
    unit.add_module(code.encode())
    unit.lazy_add_module(nvvm.LibDevice().get())
    return unit.compile().decode().rstrip("\0")
