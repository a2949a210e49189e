"""The key of a compiled kernel: a digest of the objects that the compiler is handed, never of a file.

These are the code of the kernel, its default arguments and annotations, the values of the globals and free variables that
it reads, and of what it reads of modules; and the same of all functions among these values.  A value is there with its
type and all its bits.  Comments, paths and the order in which a process makes its objects change nothing.

A kernel that reads a value which the digest can't hold has no key: it is compiled each time that it is made, and is not
kept on disk.  Such are a module that a function does more with than read an attribute, and objects of other classes
than those below, as an extension of Numba may take them.
"""

import hashlib
import inspect
import struct
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache, partial
from operator import attrgetter
from types import BuiltinFunctionType, CodeType, EllipsisType, FunctionType, MethodType
from typing import Any

import numpy as np

from ..wall_time import timed
from .reads import cells_of, cells_read, globals_read
from .syntax_tree import text_of_tree

# Packages whose functions, types and instructions are named only: the versions of those that compile are part of the name
# of an entry on disk.
_NAMED = ("numba", "numba_cuda", "llvmlite", "numpy")
_SAY_ALL = ("Type", "Signature", "ufunc")
_BACKENDS = tuple(f"{__package__.rpartition('.')[0]}.{name}." for name in ("host", "cuda", "stencil"))
_HEAP_TYPE = 1 << 9  # in the flags of a class: made by a class statement


class NoKey(Exception):
    """A value that no key holds."""


@timed("kernels: hashed")
def kernel_hash(kernel: Callable[..., Any], portable: bool = False) -> str | None:
    """The key of a kernel, or None where it reads a value that no key holds.

    portable: the key does not depend on the version of Python, for functions whose text is known and has not changed
              since they were made: machine code for GPUs may be made on another machine
    """
    try:
        return _Digest(portable).of(kernel)[:32]
    except (NoKey, RecursionError):
        return None


def keyed(function: Any) -> FunctionType:
    """A copy of a function, which is the same object for as long as the function's key is the same.

    What is made for a function is kept in memory by its identity, and has to be made again when a value that the function
    reads has changed: it is made for the copy.
    """
    return _copy(function, kernel_hash(function) or object())


@cache
def _copy(function: FunctionType, key: object) -> FunctionType:
    copy = FunctionType(function.__code__, function.__globals__, function.__name__, None, function.__closure__)
    for name in ("__defaults__", "__kwdefaults__", "__annotations__", "__module__", "__qualname__", "__doc__"):
        setattr(copy, name, getattr(function, name))
    vars(copy).update(vars(function))
    return copy


def is_named(value: Any) -> bool:
    """Whether a function, class or object is one of Numba or NumPy, which no program changes."""
    return (getattr(value, "__module__", None) or type(value).__module__).partition(".")[0] in _NAMED


def _sha(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


class _Digest:
    """Digests of values, each made once."""

    def __init__(self, portable: bool):
        self._portable = portable
        self._known: dict[int, str] = {}
        self._kept: list[Any] = []  # so that no two values have the same id
        self._depth = 0

    def of(self, value: Any) -> str:
        """The digest of a value.  Raises NoKey."""
        if (text := _text_of(value)) is not None:
            return _sha(text)
        if id(value) not in self._known:
            self._kept.append(value)
            self._known[id(value)] = f"value {self._depth}"  # while its parts are read: it may be among them
            self._depth += 1
            self._known[id(value)] = _sha(type(value).__qualname__, *self._parts(value))
            self._depth -= 1
        return self._known[id(value)]

    def _parts(self, value: Any) -> Iterable[str]:
        """The digests of what a value is made of."""
        if isinstance(value, FunctionType):
            return self._parts_of_function(value)
        if isinstance(value, type):
            return self._parts_of_class(value)
        if isinstance(value, Enum):
            return self.of(type(value)), value.name
        if isinstance(value, tuple | list):
            return [self.of(type(value))] * hasattr(value, "_field_defaults") + [self.of(one) for one in value]
        if isinstance(value, set | frozenset):
            return sorted(map(self.of, value))
        if isinstance(value, dict):
            return sorted(self.of(name) + self.of(one) for name, one in value.items())
        if isinstance(value, MethodType | staticmethod | classmethod):
            return [self.of(value.__func__)]
        if isinstance(value, property):
            return [self.of(value.fget)]
        if hasattr(value, "_defn"):  # an intrinsic of Numba
            function = inspect.unwrap(value._defn)
            library = function.__module__.startswith(_BACKENDS)
            return self._parts_of_instruction(function) if library else [self.of(function)]
        if hasattr(value, "_reduce_states") and hasattr(value, "py_func"):  # of Numba: a function, and the options
            return [self.of({name: one for name, one in value._reduce_states().items() if name != "uuid"})]
        if isinstance(value, partial):
            return map(self.of, (value.func, value.args, value.keywords))
        if hasattr(value, "cache_parameters"):  # of functools
            wrapped = value.__wrapped__
            return self._parts_of_instruction(wrapped) if wrapped.__module__.startswith(_BACKENDS) else [self.of(wrapped)]
        if is_dataclass(value):
            return self.of(type(value)), self.of({one.name: getattr(value, one.name) for one in fields(value)})
        raise NoKey

    def _parts_of_function(self, function: FunctionType) -> Iterator[str]:
        if getattr(function, "is_primitive", False):
            yield function.__name__
            return
        if source := getattr(function, "written_from", None):  # with values of its static parameters
            yield from map(self.of, source)
            return
        code = function.__code__
        tree = text_of_tree(code, function.__globals__) if self._portable else None
        yield f"{__debug__} {code.co_freevars} {tree}" if tree else _bytecode(code)
        yield self.of(function.__defaults__)
        yield self.of(function.__kwdefaults__)
        yield from self._parts_of_annotations(function)
        for values in (globals_read(function), cells_read(function)):
            yield from (f"{path} {self.of(value)}" for path, value in sorted(values.items()))

    def _parts_of_instruction(self, function: FunctionType, *callers: FunctionType) -> Iterator[str]:
        """Of one of this library, whose sources are part of the name of an entry on disk: what it was made for."""
        yield f"{function.__module__}.{function.__qualname__} {function.__code__.co_firstlineno}"
        for name, value in cells_of(function).items():
            yield name
            if not isinstance(value, FunctionType):
                yield self.of(value)
            elif value not in callers and value is not function:
                yield from self._parts_of_instruction(value, function, *callers)

    def _parts_of_class(self, which: Any) -> Iterator[str]:
        yield which.__qualname__
        if hasattr(which, "_field_defaults"):
            yield str(which._fields)
            yield self.of(which._field_defaults)
            yield self.of({name: one for name, one in vars(which).items() if isinstance(one, property)})
            yield from self._parts_of_annotations(which)
        elif issubclass(which, Enum):
            yield str([one.__name__ for one in which.__mro__])
            yield self.of({name: one.value for name, one in which.__members__.items()})
        else:
            yield from map(self.of, which.__bases__)
            yield self.of({name: one for name, one in vars(which).items() if not name.startswith("__")})

    def _parts_of_annotations(self, annotated: Any) -> Iterator[str]:
        """The names of annotations.  Only those of a kernel's parameters have to be there."""
        try:
            found = inspect.get_annotations(annotated, eval_str=True)
        except Exception:  # whatever such a text raises
            found = inspect.get_annotations(annotated)
        for name, annotation in found.items():
            one = getattr(annotation, "__origin__", annotation)  # without Static
            yield f"{name} {self.of(one) if hasattr(one, '_field_defaults') else getattr(one, '__qualname__', repr(one))}"


def _text_of(value: Any) -> str | None:
    """A number, text or array, or the name of what is not made by a program, as text; None for anything else."""
    if isinstance(value, np.generic | np.ndarray) and not value.dtype.hasobject:
        flags = value.flags
        kind = f"{type(value).__qualname__} {value.dtype!r} {value.shape} {flags.c_contiguous} {flags.f_contiguous}"
        return f"{kind} {flags.aligned} {flags.writeable} {hashlib.sha256(value.tobytes()).hexdigest()}"
    if isinstance(value, Enum):
        return None
    if value is None or isinstance(value, str | bytes | range | slice | EllipsisType | np.dtype):
        return f"{type(value).__qualname__} {value!r}"
    if isinstance(value, int):
        return f"{type(value).__qualname__} {value:x}"
    if isinstance(value, float | complex):
        return f"{type(value).__qualname__} {struct.pack('dd', value.real, value.imag).hex()}"
    if isinstance(value, CodeType):
        return _bytecode(value)
    if isinstance(value, BuiltinFunctionType) or (isinstance(value, type) and not value.__flags__ & _HEAP_TYPE):
        return f"{value.__module__}.{value.__qualname__}"
    if is_named(value):
        return _text_of_named(value)
    return None


def _text_of_named(value: Any) -> str | None:
    """The name of what a module has under this name; what an object says of itself, if it is of a kind that says all."""
    name = getattr(value, "__qualname__", "")
    with suppress(AttributeError, KeyError):
        if attrgetter(name)(sys.modules[value.__module__]) is value:
            return f"{value.__module__}.{name}"
    says_all = any(one.__name__ in _SAY_ALL for one in type(value).__mro__)
    text = f"{type(value).__qualname__} {value}" if says_all else ""
    return None if not text or " at 0x" in text or "#" in text else text  # of an address no key is made


@cache
def _bytecode(code: CodeType) -> str:
    """Digest of code and the functions nested in it, without names of files and numbers of lines."""
    text = f"{sys.version_info[:2]} {code.co_code.hex()} {code.co_exceptiontable.hex()} {code.co_flags}"
    counts = code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount
    names = code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars
    return _sha(text, str(counts), str(names), _Digest(False).of(code.co_consts))
