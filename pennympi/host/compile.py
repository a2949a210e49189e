"""From a kernel to machine code on a CPU, cached on disk."""

from collections.abc import Callable
from functools import cache, partial
from types import FunctionType
from typing import Any

import numba

from ..arrays.dtypes import TABLE, DType
from ..compile.arithmetic import CLOSE, OF_PARTIALS, PLUS, TO_ELEMENTS
from ..compile.bind import bind, call_source, kernel_hash, parameters
from ..compile.cache import made_once
from .combine import OPTIONS
from .elements import LOOP_SIGNATURE, accessors, loop
from .intrinsics import coarse_ns, set_block
from .machine_code import Loaded, NotPortable, as_function, facts, load, packed
from .multicast import BODIES
from .primitives import show_alive

device_function = partial(numba.njit, **OPTIONS)


def bodies(dtype: DType | None) -> dict[str, Any]:
    """The bodies of all primitives; of ``load``, ``store`` and ``real`` where a dtype is given."""
    return BODIES | (accessors(dtype) if dtype else {})


@cache
def compile_kernel(kernel: Callable[..., Any], name: str, dtype: DType | None, kinds: str) -> Callable[..., None]:
    """A callable (blocks, ctx, ...) that runs the kernel block after block.

    name:  unique for kernel, dtype and kinds
    kinds: a letter for each parameter, ``ctx`` among them: "i" int64 or "f" float64
    """
    letters = {"i": numba.int64, "f": numba.float64}
    signature = numba.void(numba.int64, *(letters[kind] for kind in kinds))

    @cache
    def compiled() -> Any:
        dispatcher = numba.njit(_launcher(kernel, name, dtype), **OPTIONS)
        dispatcher.compile(signature)
        return dispatcher

    def make() -> bytes:
        result = compiled().overloads[signature.args]
        return packed(result.library, result.fndesc.llvm_cpython_wrapper_name)

    try:
        return as_function(load(made_once(name, (*facts(), name, kernel_hash(kernel)), make)), name)
    except NotPortable:  # compiled again by every process
        return compiled()


def _launcher(kernel: Callable[..., Any], name: str, dtype: DType | None) -> FunctionType:
    """The plain function (blocks, ctx, ...) that runs the kernel block after block."""
    body = device_function(bind(kernel, bodies(dtype), device_function, tag=name))
    names = parameters(kernel)
    arguments, records = call_source(kernel, {})
    source = (
        f"def {name}(n_blocks, {', '.join(names)}):\n"
        f"    show_alive({names[0]}, coarse_ns())\n"
        f"    for b in range(n_blocks):\n"
        f"        set_block(b, n_blocks)\n"
        f"        body({arguments})\n"
    )
    scope: dict[str, Any] = {"body": body, "__name__": __name__, **records}
    scope |= {"set_block": set_block, "coarse_ns": coarse_ns, "show_alive": show_alive}
    exec(compile(source, __file__, "exec"), scope)  # only a parameter list differs
    return scope[name]


@cache
def loop_address(step: str, dtype: DType, op: str) -> int:
    """Address of the compiled element loop of one step of a reduction."""
    if step == CLOSE and op != "avg":
        step = "reduce"
    if step == "merge" and dtype.acc_bytes != dtype.item_bytes:
        dtype = TABLE["float32"]  # which the partials of the 16-bit floats are
    if dtype.acc_bytes == dtype.item_bytes:
        step = {**OF_PARTIALS, CLOSE: "finish", PLUS: "reduce"}.get(step, step)
    if step not in (*TO_ELEMENTS, CLOSE) and op == "avg":
        op = "sum"  # avg differs in its last step only
    if step == "widen":
        op = "sum"
    return _loop(step, dtype, op).address


@cache
def _loop(step: str, dtype: DType, op: str) -> Loaded:
    def make() -> bytes:
        compiled: Any = numba.cfunc(LOOP_SIGNATURE)(loop(step, dtype, op))
        return packed(compiled._library, compiled.native_name)

    name = f"{step}_{dtype.name}_{op}"
    return load(made_once(name, (*facts(), name), make))
