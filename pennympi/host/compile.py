"""From a kernel to machine code on a CPU, cached on disk."""

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numba
from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator
from numba.core.ccallback import CFunc
from numba.core.registry import cpu_target

from ..arrays.dtypes import TABLE, DType
from ..compile.arithmetic import CLOSE, OF_PARTIALS, PLUS, TO_ELEMENTS
from ..compile.bind import bind, call_source, kernel_hash, parameters, signs
from ..compile.cache import folder, one_at_a_time
from .combine import OPTIONS
from .elements import LOOP_SIGNATURE, accessors, loop
from .intrinsics import coarse_ns, set_block
from .multicast import BODIES
from .primitives import SIGNED_BODIES, show_alive

device_function = partial(numba.njit, **OPTIONS)


class _Folder(_CacheLocator):
    """Where Numba keeps a kernel: our folder, whose name changes with our sources."""

    def __init__(self, function: Any, source: str):
        self._stamp = getattr(function, "source_stamp", "")
        self._line = 0

    @classmethod
    def from_function(cls, function, source):
        return cls(function, source)

    def get_cache_path(self):
        return str(folder(numba.__version__))

    def get_source_stamp(self):
        return self._stamp

    def get_disambiguator(self):
        return self._stamp


class _CacheImpl(CompileResultCacheImpl):
    _locator_classes = [_Folder]


class _Cache(FunctionCache):
    _impl_class = _CacheImpl


def bodies(kernel: Callable[..., Any], dtype: DType | None) -> dict[str, Any]:
    """The bodies of all primitives; of ``load``, ``store`` and ``real`` where a dtype is given."""
    return BODIES | (SIGNED_BODIES if signs(kernel) else {}) | (accessors(dtype) if dtype else {})


@cache
def compile_kernel(kernel: Callable[..., Any], name: str, dtype: DType | None, kinds: str) -> Callable[..., None]:
    """A callable (blocks, ctx, ...) that runs the kernel block after block.

    name:  unique for kernel, dtype and kinds
    kinds: a letter for each parameter, ``ctx`` among them: "i" int64 or "f" float64
    """
    body = device_function(bind(kernel, bodies(kernel, dtype), device_function, tag=name))
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
    launcher = scope[name]
    launcher.source_stamp = kernel_hash(kernel)
    letters = {"i": numba.int64, "f": numba.float64}
    signature = numba.void(numba.int64, *(letters[kind] for kind in kinds))
    dispatcher = numba.njit(launcher, **OPTIONS)
    dispatcher._cache = _Cache(launcher)
    _compile_once(name, dispatcher._cache, signature, lambda: dispatcher.compile(signature))
    return dispatcher


def _compile_once(name: str, kept: _Cache, signature: Any, make: Callable[[], Any]) -> None:
    """Load a kernel that is on disk, else let one process of the node compile it."""
    cpu_target.target_context.refresh()
    key = kept._index_key(signature, cpu_target.target_context.codegen())
    if key in kept._cache_file._load_index():
        make()
        return
    with one_at_a_time(name, folder(numba.__version__)):
        make()


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
    return int(_loop(step, dtype, op).address or 0)


@cache
def _loop(step: str, dtype: DType, op: str) -> Any:
    function = loop(step, dtype, op)
    compiled: Any = CFunc(function, (LOOP_SIGNATURE.args, LOOP_SIGNATURE.return_type), {}, {})
    compiled._cache = _Cache(function)
    _compile_once(function.__name__, compiled._cache, LOOP_SIGNATURE, compiled.compile)
    return compiled
