"""From a kernel, a plain Python function, to a function that a backend can compile.

A kernel calls primitives, and a backend has an implementation of each.  ``bind`` makes a copy of the kernel with other
globals: each primitive is replaced by the backend's compiled implementation, each plain function by a compiled copy that
is bound in the same way.  Numbers stay as they are.  A kernel may name these by their module, as in ``block.wait``.
"""

import dis
import hashlib
import inspect
import os
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from types import CellType, FunctionType, ModuleType
from typing import Any, get_type_hints

import numpy as np

from ..kernels.records import Work
from ..wall_time import timed
from .unroll import unrolled

# Parameters that a backend may turn into constants of the compiled kernel.
CONSTANTS = ("n_pes", "item_bytes", "acc_bytes", "residual", "root", "out_is_symmetric")


def bind(
    kernel: Callable[..., Any],
    implementations: Mapping[str, Any],
    compile_helper: Callable[..., Any],
    constants: Mapping[str, Any] | None = None,
    suffix: str = "",
    made: dict[FunctionType, Any] | None = None,
) -> FunctionType:
    """Return ``kernel`` with every primitive replaced by ``implementations[name]``.

    compile_helper: makes a device function of a plain function that the kernel calls
    constants:      values of globals, of the kernel and of the functions that it calls, in place of their own
    suffix:         of the copy's name.  It says what the copy was bound with, since a compiled function's symbol
                    holds only its name and argument types, which are int64 for every dtype
    made:           results of ``compile_helper`` so far, so that a function is compiled once for several callers
    Raises KeyError for a primitive or stub that has neither an implementation nor a constant.
    """
    kernel = unrolled(kernel)
    constants = constants or {}
    made = {} if made is None else made

    def rebind(value: Any) -> Any:
        if getattr(value, "is_primitive", False):
            if value.__name__ not in implementations:
                raise KeyError(f"this backend has no implementation for the primitive {value.__name__!r}")
            return implementations[value.__name__]
        if isinstance(value, FunctionType):
            if value not in made:
                made[value] = compile_helper(bind(value, implementations, compile_helper, constants, suffix, made))
            return made[value]
        return value

    rebound: dict[str, Any] = {**kernel.__globals__, **constants}
    for name, value in _read(kernel).items():
        module, _, attribute = name.rpartition(".")
        if module:
            rebound[module] = _with(rebound[module], attribute, rebind(value))
        elif name in kernel.__globals__ and name not in constants:
            rebound[name] = rebind(value)
    closure = kernel.__closure__ and tuple(CellType(rebind(cell.cell_contents)) for cell in kernel.__closure__)
    clone = FunctionType(kernel.__code__, rebound, kernel.__name__, kernel.__defaults__, closure)
    clone.__annotations__ = kernel.__annotations__
    clone.__module__ = kernel.__module__
    clone.__qualname__ = f"{kernel.__qualname__}_{suffix}" if suffix else kernel.__qualname__
    return clone


def _with(module: ModuleType, name: str, value: Any) -> ModuleType:
    """A copy of a module with another value of a name, or the module if it is the same value."""
    if value is getattr(module, name):
        return module
    copy = ModuleType(module.__name__)
    vars(copy).update(vars(module))
    setattr(copy, name, value)
    return copy


@cache
def globals_read(function: FunctionType) -> tuple[str, ...]:
    """The global names that a function reads, and "module.name" for a function of ``kernels/`` that it names so.

    ``co_names`` would hold the names of all attributes.
    """
    read: list[str] = []
    before = ""
    for one in dis.get_instructions(function):
        if one.opname == "LOAD_GLOBAL":
            read.append(one.argval)
        elif one.opname in ("LOAD_ATTR", "LOAD_METHOD") and before == "LOAD_GLOBAL":
            module = function.__globals__.get(read[-1])
            if isinstance(module, ModuleType) and _is_kernels(getattr(module, one.argval, None)):
                read.append(f"{read[-1]}.{one.argval}")
        before = one.opname if one.opname != "EXTENDED_ARG" else before
    return tuple(dict.fromkeys(read))


def _is_kernels(value: Any) -> bool:
    """Whether a value is a function of ``kernels/``.  Functions of NumPy and Numba that are named by a module stay."""
    return isinstance(value, FunctionType) and value.__module__.startswith(Work.__module__.rpartition(".")[0])


def _read(function: FunctionType) -> dict[str, Any]:
    """{name: value} of ``globals_read``."""
    found = {}
    for name in globals_read(function):
        module, _, attribute = name.rpartition(".")
        found[name] = getattr(function.__globals__[module], attribute) if module else function.__globals__.get(name)
    return found


def helpers(function: Any) -> list[FunctionType]:
    """The plain functions that a function calls."""
    found = _found(function).values()
    return [one for one in found if isinstance(one, FunctionType) and not hasattr(one, "is_primitive")]


@cache
def names_reached(function: FunctionType) -> set[str]:
    """The names of all globals, primitives and stubs that a function and the functions it calls read."""
    reached: set[str] = set()
    functions = [function]
    for one in functions:  # the list grows meanwhile
        for name, value in _found(one).items():
            value = getattr(value, "py_func", value)
            reached |= {name, value.__name__} if hasattr(value, "is_primitive") else {name}
            if isinstance(value, FunctionType) and not hasattr(value, "is_primitive") and value not in functions:
                functions.append(value)
    return reached


@cache
def records(kernel: Callable[..., Any]) -> dict[str, Any]:
    """{parameter: the NamedTuple class that it is annotated with, or None for a number}, in order."""
    found = inspect.signature(kernel, eval_str=True).parameters
    return {
        name: one.annotation if hasattr(one.annotation, "_fields") and isinstance(one.annotation, type) else None
        for name, one in found.items()
    }


@cache
def _launched(kernel: Callable[..., Any]) -> dict[str, tuple[str, ...]]:
    """{parameter: the names of the numbers that a launch passes for it}: a record's fields, or the parameter itself.

    Where two records have a field of the same name, the parameter's name comes before it.
    """
    every = [name for one, record in records(kernel).items() for name in (record._fields if record else (one,))]
    times = Counter(every)
    return {
        one: tuple(field if times[field] == 1 else f"{one}_{field}" for field in record._fields) if record else (one,)
        for one, record in records(kernel).items()
    }


@cache
def parameters(kernel: Callable[..., Any]) -> tuple[str, ...]:
    """Names of the numbers that a kernel is launched with, in order: its parameters, and the fields of its records."""
    return tuple(name for names in _launched(kernel).values() for name in names)


@cache
def annotations(kernel: Callable[..., Any]) -> list[Any]:
    """The annotation of each of ``parameters`` after ``ctx``: of the parameter, or of its record's field."""
    found = inspect.signature(kernel, eval_str=True).parameters
    types: list[Any] = []
    for name, record in list(records(kernel).items())[1:]:
        types += get_type_hints(record, include_extras=True).values() if record else [found[name].annotation]
    return types


def annotated_kinds(kernel: Callable[..., Any]) -> str:
    """``KernelOptions.kinds`` by the annotations: "f" for float."""
    return "".join("f" if one is float else "i" for one in annotations(kernel))


def is_tagged(kernel: Callable[..., Any]) -> bool:
    """Whether the epochs of a kernel carry the tag of its call; all other waits compare whole words."""
    return Work in records(kernel).values()


def call_source(kernel: Callable[..., Any], constants: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The arguments of a call of ``kernel`` as Python source over the names of ``parameters``, and its free names.

    constants: numbers that stand in place of a name.  The compiler takes records apart, so that they cost nothing.
    """
    parts, free = [], {}
    for one, record in records(kernel).items():
        inside = ", ".join(str(constants.get(name, name)) for name in _launched(kernel)[one])
        if record:
            free[record.__name__] = record
        parts.append(f"{record.__name__}({inside})" if record else inside)
    return ", ".join(parts), free


@timed("kernels: hashed")
def kernel_hash(kernel: Callable[..., Any]) -> str:
    """Digest of what a kernel is made from: its text, its records, all functions that it calls, and the numbers in its
    globals and closure, which the compiler takes for constants.

    It depends neither on paths nor on the order of names in the bytecode, which differs between versions of Python, so
    that machine code for GPUs can be made on another machine.
    """
    files: set[str] = set()
    parts = {_digest(getattr(kernel, "py_func", kernel), {}, files)}
    parts |= {hashlib.sha256(Path(one).read_bytes()).hexdigest() for one in files if os.path.exists(one)}
    return hashlib.sha256("\n".join(sorted(parts)).encode()).hexdigest()[:32]


def _digest(function: Any, known: dict[Any, str], files: set[str]) -> str:
    """Digest of a function and everything that it calls, without their files, which are added to ``files``.

    It covers the tree of calls, not the set of functions, because a closure may be called at several places.
    known: digests so far
    """
    known[function] = function.__qualname__  # for a function that calls itself
    code, source = function.__code__, inspect.getsourcefile(function) or function.__code__.co_filename
    parts = [f"{function.__qualname__} {code.co_firstlineno}"]
    files.add(source)
    if not os.path.exists(source):  # typed at a prompt, or in a notebook
        parts.append(f"{code.co_code.hex()} {code.co_consts} {code.co_names}")
    for name, found in sorted(_found(function).items()):
        value = getattr(found, "py_func", found)
        if isinstance(value, FunctionType) and not hasattr(value, "is_primitive"):
            parts.append(f"{name} = {known.get(value) or _digest(value, known, files)}")
        elif isinstance(value, type) and hasattr(value, "_fields"):
            parts.append(f"{name} = {value._fields}")
            files.add(getattr(sys.modules.get(value.__module__), "__file__", None) or "")
        elif (getattr(value, "__file__", None) or "").endswith(".py"):  # a module, whose numbers it may read
            files.add(value.__file__)
        else:
            parts.append(f"{name} = {_constant(value)}")
    known[function] = hashlib.sha256("\n".join(parts).encode()).hexdigest()
    return known[function]


def _found(function: FunctionType) -> dict[str, Any]:
    """{name: value} of the globals and closure of a function, and the records among its parameters."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    return _read(function) | {name: cell.cell_contents for name, cell in cells} | records(function)


def _constant(value: Any) -> str:
    """A number, a text, or a tuple or array of them, as text.  For anything else the name of its type."""
    if isinstance(value, tuple):
        return f"({', '.join(map(_constant, value))})"
    if isinstance(value, np.ndarray):
        return f"{value.dtype} {value.shape} {value.tobytes().hex()}"
    known = isinstance(value, int | float | complex | str | bytes | np.generic)
    return f"{value!r}" if known else type(value).__name__
