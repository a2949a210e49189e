"""What numba-cuda-mlir translates wrongly, or not at all, translated here.  docs/compilers.md has a program for each."""

import operator
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partialmethod
from itertools import count
from math import prod
from typing import Any

from llvmlite import ir
from numba_cuda_mlir._mlir import ir as mlir
from numba_cuda_mlir._mlir.dialects import arith, builtin, llvm, nvvm
from numba_cuda_mlir.lowering import cuda, math
from numba_cuda_mlir.mlir_lowering import MLIRLower
from numba_cuda_mlir.numba_cuda import types

from ..kernels.algorithm import WARP_THREADS
from .mlir_builder import Builder, Value, mlir_type

_I32, _I64 = ir.IntType(32), ir.IntType(64)
_number = count()
_shuffled_32 = cuda._shfl_sync_lowering


def _shared_array(lower: Any, target: Any, shape: Sequence[int], dtype: Any, align: int) -> None:
    """Shared memory as a global of LLVM: the compiler loses its own global where it links a device function."""
    kind = lower.get_storage_type(cuda._resolve_numba_dtype(lower, dtype))
    b = Builder(lower.mlir_gpu_module)
    n_bytes = prod(shape) * kind.width // 8
    memory = ir.GlobalVariable(b.module, ir.ArrayType(ir.IntType(8), n_bytes), f"shared_{next(_number)}", 3)
    memory.linkage, memory.align = "internal", align
    ranks = range(len(shape))
    strides = [prod(shape[k + 1 :]) for k in ranks]
    fields = [([0], b.value(memory)), ([1], b.value(memory)), ([2], b.value(_I64(0)))]
    fields += [([3 + place, k], b.value(_I64(n[k]))) for place, n in enumerate((shape, strides)) for k in ranks]
    sizes = f"array<{len(shape)} x i64>"
    described = llvm.mlir_undef(mlir.Type.parse(f"!llvm.struct<(ptr<3>, ptr<3>, i64, {sizes}, {sizes})>"))
    for place, value in fields:
        described = llvm.insertvalue(described, value, mlir.DenseI64ArrayAttr.get(place))
    space = mlir.Attribute.parse("#gpu.address_space<workgroup>")
    array = mlir.MemRefType.get(shape, kind, memory_space=space)
    lower.store_var(target, builtin.unrealized_conversion_cast([array], [described]))


def _shuffled(lower: Any, target: Any, arguments: Any, keywords: Any, kind: Any) -> None:
    """A shuffle.  Of 64 bits both halves go: the compiler sends a float64 as float32, and of an int64 the lower half."""
    mask, value, lane = (lower.load_var(one) for one in arguments)
    if value.type.width < _I64.width:
        _shuffled_32(lower, target, arguments, keywords, kind)
        return
    b = Builder(lower.mlir_gpu_module)
    mask, lane = cuda.int_of(mask, mlir_type(_I32)), cuda.int_of(lane, mlir_type(_I32))
    last = b.value(_I32(0 if kind == nvvm.ShflKind.up else WARP_THREADS - 1))
    whole = Value(value, ir.DoubleType() if isinstance(value.type, mlir.F64Type) else _I64)
    halves = b.bitcast(whole, ir.VectorType(_I32, 2))
    moved = halves
    for k in range(2):
        half = nvvm.shfl_sync(mask, b.extract_element(halves, _I32(k)).of_mlir, lane, last, kind)
        moved = b.insert_element(moved, Value(half, _I32), _I32(k))
    lower.store_var(target, b.bitcast(moved, whole.type).of_mlir)


def _loaded(lower: Any, load: Callable[..., Any], variable: Any) -> Any:
    """The value of a variable, or the values of the variables that a callee takes as ``*args``."""
    if isinstance(variable, tuple):
        return tuple(load(lower, one) for one in variable)
    return load(lower, variable)


def _called(lower: Any, call: Callable[..., Any], target: Any, *given: Any) -> Any:
    """The result of a call, a tuple also where that holds no number: the compiler takes it for None."""
    found, kind = call(lower, target, *given), lower.get_numba_type(target.name)
    if isinstance(found, mlir.NoneType) and isinstance(kind, types.BaseTuple):
        return lower._unflatten_abi_value(kind, iter(()))
    return found


def _assigned(lower: Any, assign: Callable[..., Any], target: Any, expression: Any) -> None:
    """An assignment.  The compiler names the elements of ``*args`` as at the call before, and refuses a name it knows."""
    if expression.op == "call" and expression.vararg is not None:
        name = expression.vararg.name
        for k in range(len(lower.get_numba_type(name))):
            for known in (lower.fndesc.typemap, lower.varmap):
                known.pop(f"$vararg_{name}_{k}", None)
    assign(lower, target, expression)


def _of_constant(lower: Any, of_constant: Callable[..., Any], target: Any, constant: Any) -> None:
    """A constant.  The compiler knows no tuple in a tuple; Python folds such ones from 3.12 on."""
    if not isinstance(constant.value, tuple):
        of_constant(lower, target, constant)
        return

    def made(kind: Any, value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(map(made, kind.types, value))
        return arith.constant(lower.get_mlir_type(kind), value)

    lower.store_var(target, made(lower.get_numba_type(target.name), constant.value))


def _allocated(lower: Any, allocate: Callable[..., Any], n_assignments: dict[str, int]) -> None:
    """Memory of the variables that are assigned to again.  The compiler has none for tuples of tuples of one type."""
    nested = {}
    for name, n in n_assignments.items():
        kind = lower.get_numba_type(name) if n > 1 else None
        if isinstance(kind, types.UniTuple) and isinstance(kind.dtype, types.BaseTuple):
            nested[name] = lower._allocate_stack_slot_for_type(kind)
    lower.varmap.update(nested)
    allocate(lower, {name: n for name, n in n_assignments.items() if name not in nested})


def _returned(lower: Any, of_return: Callable[..., Any], kind: Any, value: Any) -> Any:
    """What a function returned, a tuple where that is one of a single number: the compiler takes it for the number."""
    if isinstance(kind, types.BaseTuple) and not isinstance(value, tuple):
        value = lower._unflatten_abi_value(kind, iter([value]))
    return of_return(lower, kind, value)


def _not_equal(x: Any, y: Any) -> Any:
    """x != y of floats, which holds where one is NaN: not so in the compiler."""
    return arith.cmpf(arith.CmpFPredicate.UNE, x, y)


def mend() -> None:
    """Put these functions in the place of the compiler's."""
    cuda.cuda_static_shared_memory = _shared_array
    cuda.gpu.barrier = nvvm.barrier  # MLIR drops a gpu.barrier at once after another, though other warps count both
    cuda._shfl_sync_lowering = _shuffled
    operators = math._operator_mapping()
    operators[operator.ne] = replace(operators[operator.ne], float=_not_equal)
    methods = {
        "allocate_stack_space_for_vars_with_multiple_assigns": _allocated,
        "build_user_defined_function_call": _called,
        "from_return": _returned,
        "load_var": _loaded,
        "lower_const_assign": _of_constant,
        "lower_expr_assign": _assigned,
    }
    for name, method in methods.items():
        setattr(MLIRLower, name, partialmethod(method, getattr(MLIRLower, name)))
