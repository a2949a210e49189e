"""Compiles a kernel to machine code for a CPU, with a cache on disk.

A file of the cache holds a line of JSON and an ELF object, which LLVM links into the process.  Python neither unpickles
nor runs anything in it.
"""

import ctypes
import json
import platform
import sys
from collections.abc import Callable
from functools import cache, partial
from types import FunctionType
from typing import Any, NamedTuple

import llvmlite
import llvmlite.binding as llvm
import numba
from numba import _dynfunc
from numba.core import codegen, config
from numba.core.environment import lookup_environment
from numba.core.registry import cpu_target
from numba.core.runtime import rtsys

from ...arrays.dtypes import TABLE, DType
from ...compile.arithmetic import OF_PARTIALS, PLUS, REDUCE_AND_DIVIDE, STEPS, TO_ELEMENTS
from ...compile.bind import bind, call_source, is_tagged, parameters
from ...compile.cache import announced, made_once
from ...compile.digest import kernel_hash
from ...once import once
from ...wall_time import timed
from ..device.elements import LOOP_SIGNATURE, accessors, loop
from ..device.intrinsics import coarse_ns, set_block
from ..device.multicast import IMPLEMENTATIONS
from ..device.numba_cpu import OPTIONS, device_function
from ..device.waits import TAGGED_IMPLEMENTATIONS, show_alive

_ENVIRONMENT = "_ZN08NumbaEnv"  # prefix of the names of ``environments_of``
_UNRESOLVED = ".numba.unresolved$"


class NotPortable(Exception):
    """Compiled code runs only in the process that compiled it."""


class Loaded(NamedTuple):
    """Machine code in this process.  engine: owner of its memory"""

    engine: Any
    address: int
    environments: tuple[Any, ...]


def code_inputs() -> tuple[str, ...]:
    """Inputs of machine code besides its source: Python, the compilers, their settings, the CPU."""
    options = (config.OPT, config.LOOP_VECTORIZE, config.SLP_VECTORIZE, config.USING_SVML, config.DEBUGINFO_DEFAULT)
    cpu = config.CPU_NAME or llvm.get_host_cpu_name()
    features = config.CPU_FEATURES if config.CPU_FEATURES is not None else codegen.get_host_cpu_features()
    versions = platform.python_version(), numba.__version__, llvmlite.__version__
    return *versions, " ".join(map(str, options)), llvm.get_process_triple(), cpu, features


def packed(library: Any, entry: str) -> bytes:
    """The machine code of a library of Numba as bytes.  entry: the symbol that is called

    Raises NotPortable if the code refers to memory of this process, as for a kernel with a large array as a global.
    """
    try:
        library._ensure_finalized()
        module, code = library._final_module, library._compiled_object
        variables, environments = [variable.name for variable in module.global_variables], environments_of(library)
        symbols = (*module.functions, *module.global_variables)
        declared = [symbol.name for symbol in symbols if symbol.is_declaration]
        bound = library.has_dynamic_globals or any(name.startswith(_UNRESOLVED) for name in variables)
        for name in environments:
            known = lookup_environment(name)
            bound = bound or (known is not None and bool(known.consts))
    except AttributeError as error:  # this version of Numba has other private attributes
        raise NotPortable(str(error)) from None
    if bound or not isinstance(code, bytes):
        raise NotPortable(entry)
    needs = [name for name in declared if not name.startswith("llvm.")]
    return json.dumps([entry, environments, needs]).encode() + b"\n" + code


def environments_of(library: Any) -> list[str]:
    """The variables through which the code of a library reaches its Python objects."""
    names = [variable.name for variable in library._final_module.global_variables]
    return [name for name in names if name.startswith(_ENVIRONMENT)]


def set_environments(library: Any) -> None:
    """Let the code of a library of this process, and of its inner functions, reach its Python objects."""
    for name in environments_of(library):
        library.codegen.set_env(name, lookup_environment(name))


@timed("kernels: loaded")
def load(data: bytes) -> Loaded:
    """Link the result of ``packed`` into this process.  Raises NotPortable if this process lacks a symbol."""
    head, _, code = data.partition(b"\n")
    entry, names, needs = json.loads(head)
    cpu_target.target_context.codegen()  # makes LLVM know this CPU and the functions of Numba
    # Symbols are added in two steps: first those of Numba's memory manager, to which all code refers; then, only if a
    # symbol is still missing, all others, which takes long.
    for add_symbols in (partial(rtsys.initialize, cpu_target.target_context), cpu_target.target_context.refresh):
        if not all(map(llvm.address_of_symbol, needs)):
            add_symbols()
    if lacking := [name for name in needs if not llvm.address_of_symbol(name)]:
        raise NotPortable(", ".join(lacking))  # LLVM would end the process
    # Each kernel has its own engine, since symbols of two kernels may have the same name.
    target = llvm.Target.from_triple(llvm.get_process_triple())
    machine = target.create_target_machine(jit=True, codemodel="jitdefault")
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine, use_lmm=config.USE_LLVMLITE_MEMORY_MANAGER)
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    environments = tuple(_dynfunc.Environment({}) for _ in names)
    for name, environment in zip(names, environments, strict=True):
        ctypes.c_void_p.from_address(engine.get_global_value_address(name)).value = id(environment)
    address = engine.get_function_address(entry)
    if not address:
        raise NotPortable(entry)
    return Loaded(engine, address, environments)


def as_function(loaded: Loaded, name: str) -> Callable[..., None]:
    """A Python function whose machine code has Python's calling convention."""
    function: Callable[..., None] = _dynfunc.make_function(
        sys.modules[__name__], name, f"machine code of {name}", loaded.address, loaded.environments[0], loaded
    )
    return function


def implementations(kernel: Callable[..., Any], dtype: DType | None) -> dict[str, Any]:
    """The implementations of all primitives; without a dtype, ``load``, ``store`` and ``real`` have none."""
    return IMPLEMENTATIONS | (TAGGED_IMPLEMENTATIONS if is_tagged(kernel) else {}) | (accessors(dtype) if dtype else {})


@once
def compiled(kernel: Callable[..., Any], dtype: DType | None, kinds: str) -> Callable[..., None]:
    """A callable (blocks, ctx, ...) that runs the kernel block after block.

    kinds: a letter for each parameter after ``ctx``: "i" int64 or "f" float64
    """
    unique = "_".join((kernel.__module__, kernel.__qualname__, dtype.name if dtype else "bytes", kinds))
    name = "".join(c if c.isalnum() else "_" for c in unique)
    letters = {"i": numba.int64, "f": numba.float64}
    signature = numba.void(numba.int64, numba.int64, *(letters[kind] for kind in kinds))

    @cache
    def dispatched() -> Any:
        dispatcher = numba.njit(_launcher(kernel, name, dtype), **OPTIONS)
        dispatcher.compile(signature)
        return dispatcher

    def make() -> bytes:
        result = dispatched().overloads[signature.args]
        return packed(result.library, result.fndesc.llvm_cpython_wrapper_name)

    key = kernel_hash(kernel)
    if key is None:
        with announced(kernel.__name__):
            return dispatched()
    try:
        return as_function(load(made_once(name, (*code_inputs(), name, key), make, kernel.__name__)), name)
    except NotPortable:  # every process compiles the kernel
        dispatcher = dispatched()
        set_environments(dispatcher.overloads[signature.args].library)
        return dispatcher


def _launcher(kernel: Callable[..., Any], name: str, dtype: DType | None) -> FunctionType:
    """The plain function (blocks, ctx, ...) that runs the kernel block after block."""
    body = device_function(bind(kernel, implementations(kernel, dtype), device_function, suffix=name))
    names = parameters(kernel)
    arguments, records = call_source(kernel, {})
    # Names that end in _ differ from all parameters of kernels.
    source = (
        f"def {name}(n_blocks_, {', '.join(names)}):\n"
        f"    show_alive_({names[0]}, coarse_ns_())\n"
        f"    for block_ in range(n_blocks_):\n"
        f"        set_block_(block_, n_blocks_)\n"
        f"        body_({arguments})\n"
    )
    scope: dict[str, Any] = {"body_": body, "__name__": __name__, **records}
    scope |= {"set_block_": set_block, "coarse_ns_": coarse_ns, "show_alive_": show_alive}
    exec(compile(source, __file__, "exec"), scope)  # kernels differ only in names and parameters
    return scope[name]


def loop_words(dtype: DType, op: str, residual: bool) -> list[int]:
    """The words of ``ctx`` about a reduction's element loops.  residual: with the loops that add a residual"""
    words = [loop_address(step, dtype, op) for step in STEPS]
    words += [dtype.item_bytes, dtype.acc_bytes]
    if residual:
        steps = (REDUCE_AND_DIVIDE, op), ("reduce_and_round", "sum"), (PLUS, "sum")
        words += [loop_address(step, dtype, step_op) for step, step_op in steps]
    return words


@cache
def loop_address(step: str, dtype: DType, op: str) -> int:
    """Address of the compiled element loop of a step of a reduction."""
    if step == REDUCE_AND_DIVIDE and op != "avg":
        step = "reduce"
    if step == "reduce_partials" and dtype.acc_bytes != dtype.item_bytes and dtype.kind in "fb":
        dtype = TABLE["float32"]  # partials of the 16-bit floats are float32
    if dtype.acc_bytes == dtype.item_bytes:
        step = {**OF_PARTIALS, REDUCE_AND_DIVIDE: "reduce_and_round", PLUS: "reduce"}.get(step, step)
    if step not in (*TO_ELEMENTS, REDUCE_AND_DIVIDE) and op == "avg":
        op = "sum"  # avg differs from sum only in its last step
    if step == "to_partials":
        op = "sum"
    return _loop(step, dtype, op).address


@once
def _loop(step: str, dtype: DType, op: str) -> Loaded:
    return c_function(f"{step}_{dtype.name}_{dtype.acc_bytes}_{op}", LOOP_SIGNATURE, lambda: loop(step, dtype, op))


def c_function(name: str, signature: Any, plain: Callable[[], Callable[..., Any]], **options: Any) -> Loaded:
    """A function with C's calling convention, compiled or loaded from disk.  plain: makes the Python function"""

    def make() -> bytes:
        compiled: Any = numba.cfunc(signature, **options)(plain())
        return packed(compiled._library, compiled.native_name)

    return load(made_once(name, (*code_inputs(), name), make))
