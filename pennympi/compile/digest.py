"""The key of a compiled kernel: a digest of the objects that the compiler gets, and not of a file.

The digest covers the code of the kernel, its default arguments and annotations, the values of the globals and free
variables that it reads, the attributes of modules that it reads, and the same of all functions among these values.  A
value is covered with its type and all its bits.  Comments, paths and the order in which a process makes its objects
change nothing.

A kernel that reads a value without a digest has no key: it is compiled in each process, and is not kept on disk.  Such
values are a module of which a function does more than read an attribute, and objects of classes that this file does not
list, as extensions of Numba may have.
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

# Packages whose functions, types and instructions enter the digest by name only: the versions of the packages that
# compile are part of the name of an entry on disk.
_NAMED = ("numba", "numba_cuda", "llvmlite", "numpy")
_SELF_DESCRIBING = ("Type", "Signature", "ufunc")  # classes whose objects print everything that they hold
_BACKENDS = tuple(f"{__package__.rpartition('.')[0]}.{name}." for name in ("host", "cuda", "stencil"))
_HEAP_TYPE = 1 << 9  # flag of a class that a class statement made


class NoKey(Exception):
    """A value has no digest."""


@timed("kernels: hashed")
def kernel_hash(kernel: Callable[..., Any], portable: bool = False) -> str | None:
    """The key of a kernel, or None if it reads a value without a digest.

    portable: the key does not depend on the version of Python, if the text of all functions is known and unchanged, since
              a kernel for GPUs may be compiled on another machine
    """
    try:
        return _Digest(portable).of(kernel)[:32]
    except (NoKey, RecursionError):
        return None


def keyed(function: Any) -> FunctionType:
    """A copy of a function; the same object as long as the function's key is the same.

    Results that are kept in memory by a function's identity have to be made again after a value that the function reads
    has changed.  Therefore they are kept for the copy.
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
    """Whether a function, class or object belongs to Numba or NumPy, which no program changes."""
    return (getattr(value, "__module__", None) or type(value).__module__).partition(".")[0] in _NAMED


def _sha(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


class _Digest:
    """The digests of values; each value is digested once."""

    def __init__(self, portable: bool):
        self._portable = portable
        self._known: dict[int, str] = {}
        self._kept: list[Any] = []  # digested values, kept alive so that no two values have the same id
        self._depth = 0

    def of(self, value: Any) -> str:
        """The digest of a value.  Raises NoKey."""
        if (text := _text_of(value)) is not None:
            return _sha(text)
        if id(value) not in self._known:
            self._kept.append(value)
            self._known[id(value)] = f"value {self._depth}"  # while its parts are read: they may contain it
            self._depth += 1
            self._known[id(value)] = _sha(type(value).__qualname__, *self._parts(value))
            self._depth -= 1
        return self._known[id(value)]

    def _parts(self, value: Any) -> Iterable[str]:
        """The digests of the parts of a value."""
        if isinstance(value, FunctionType):
            return self._parts_of_function(value)
        if isinstance(value, type):
            return self._parts_of_class(value)
        if isinstance(value, Enum):
            return self.of(type(value)), value.name
        if isinstance(value, tuple | list):
            return [self.of(type(value))] * hasattr(value, "_field_defaults") + [self.of(element) for element in value]
        if isinstance(value, set | frozenset):
            return sorted(map(self.of, value))
        if isinstance(value, dict):
            return sorted(self.of(name) + self.of(element) for name, element in value.items())
        if isinstance(value, MethodType | staticmethod | classmethod):
            return [self.of(value.__func__)]
        if isinstance(value, property):
            return [self.of(value.fget)]
        if hasattr(value, "_defn"):  # an intrinsic of Numba
            function = inspect.unwrap(value._defn)
            library = function.__module__.startswith(_BACKENDS)
            return self._parts_of_instruction(function) if library else [self.of(function)]
        if hasattr(value, "_reduce_states") and hasattr(value, "py_func"):  # Numba's dispatcher: function and options
            return [self.of({name: state for name, state in value._reduce_states().items() if name != "uuid"})]
        if isinstance(value, partial):
            return map(self.of, (value.func, value.args, value.keywords))
        if hasattr(value, "cache_parameters"):  # a cached function of functools
            wrapped = value.__wrapped__
            return self._parts_of_instruction(wrapped) if wrapped.__module__.startswith(_BACKENDS) else [self.of(wrapped)]
        if is_dataclass(value):
            contents = {field.name: getattr(value, field.name) for field in fields(value)}
            return self.of(type(value)), self.of(contents)
        raise NoKey

    def _parts_of_function(self, function: FunctionType) -> Iterator[str]:
        if getattr(function, "is_primitive", False):
            yield function.__name__
            return
        if source := getattr(function, "written_from", None):  # (function, values of its static parameters)
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
        """The digests of an instruction of this library: only its parameters; an entry's name covers the sources."""
        yield f"{function.__module__}.{function.__qualname__} {function.__code__.co_firstlineno}"
        for name, value in cells_of(function).items():
            yield name
            if not isinstance(value, FunctionType):
                yield self.of(value)
            elif value not in callers and value is not function:
                yield from self._parts_of_instruction(value, function, *callers)

    def _parts_of_class(self, kind: Any) -> Iterator[str]:
        yield kind.__qualname__
        if hasattr(kind, "_field_defaults"):
            yield str(kind._fields)
            yield self.of(kind._field_defaults)
            properties = {name: value for name, value in vars(kind).items() if isinstance(value, property)}
            yield self.of(properties)
            yield from self._parts_of_annotations(kind)
        elif issubclass(kind, Enum):
            yield str([base.__name__ for base in kind.__mro__])
            yield self.of({name: member.value for name, member in kind.__members__.items()})
        else:
            yield from map(self.of, kind.__bases__)
            yield self.of({name: value for name, value in vars(kind).items() if not name.startswith("__")})

    def _parts_of_annotations(self, annotated: Any) -> Iterator[str]:
        """The names of annotations.  Only those of a kernel's parameters must be defined."""
        try:
            annotations = inspect.get_annotations(annotated, eval_str=True)
        except Exception:  # evaluating the text may raise any exception
            annotations = inspect.get_annotations(annotated)
        for name, annotation in annotations.items():
            kind = getattr(annotation, "__origin__", annotation)  # Static[kind] is Annotated
            text = self.of(kind) if hasattr(kind, "_field_defaults") else getattr(kind, "__qualname__", repr(kind))
            yield f"{name} {text}"


def _text_of(value: Any) -> str | None:
    """A number, text or array, or the name of a builtin or of an object of Numba or NumPy, as text; else None."""
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
    """The name of an object under which its module has it; else the text of an object that prints all that it holds."""
    name = getattr(value, "__qualname__", "")
    with suppress(AttributeError, KeyError):
        if attrgetter(name)(sys.modules[value.__module__]) is value:
            return f"{value.__module__}.{name}"
    describes_itself = any(base.__name__ in _SELF_DESCRIBING for base in type(value).__mro__)
    text = f"{type(value).__qualname__} {value}" if describes_itself else ""
    return None if not text or " at 0x" in text or "#" in text else text  # an address differs from run to run


@cache
def _bytecode(code: CodeType) -> str:
    """Digest of code and the functions nested in it, without file names and line numbers."""
    text = f"{sys.version_info[:2]} {code.co_code.hex()} {code.co_exceptiontable.hex()} {code.co_flags}"
    counts = code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount
    names = code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars
    return _sha(text, str(counts), str(names), _Digest(False).of(code.co_consts))
