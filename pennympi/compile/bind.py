"""From a kernel, a plain Python function, to a function that a backend can compile.

A kernel calls primitives, and a backend has an implementation of each.  ``bind`` makes a copy of the kernel with other
globals: each primitive is replaced by the backend's compiled implementation, each plain function by a compiled copy that
is bound in the same way.  Numbers stay as they are.  A kernel may name these by their module, as in ``block.wait``.
"""

import inspect
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from types import CellType, FunctionType, ModuleType
from typing import Any, get_type_hints
from uuid import uuid4

from ..kernels.records import Work
from .digest import is_named
from .reads import cells_of, cells_read, globals_read
from .unroll import unrolled

# Parameters that a backend may turn into constants of the compiled kernel.
CONSTANTS = ("n_pes", "item_bytes", "acc_bytes", "residual", "root", "out_is_symmetric")
_KERNELS = Work.__module__.rpartition(".")[0]


def bind(
    kernel: Callable[..., Any],
    implementations: Mapping[str, Any],
    compile_helper: Callable[..., Any],
    constants: Mapping[str, Any] | None = None,
    suffix: str = "",
    made: dict[Any, Any] | None = None,
) -> FunctionType:
    """Return ``kernel`` with every primitive replaced by ``implementations[name]``.

    compile_helper: makes a device function of a plain function that the kernel calls
    constants:      values of globals, of the kernel and of the functions that it calls, in place of their own
    suffix:         of the copy's name.  It says what the copy was bound with, since a compiled function's symbol
                    holds only its name and argument types, which are int64 for every dtype
    made:           results of ``compile_helper`` so far, so that a function is compiled once for several callers
    Raises KeyError for a primitive or stub that has neither an implementation nor a constant.
    """
    made = {} if made is None else made
    return _Binding(implementations, compile_helper, constants or {}, suffix, made).of(unrolled(kernel))


class _Binding:
    """See ``bind``."""

    def __init__(
        self,
        implementations: Mapping[str, Any],
        compile_helper: Callable[..., Any],
        constants: Mapping[str, Any],
        suffix: str,
        made: dict[Any, Any],
    ):
        self._implementations, self._compile_helper = implementations, compile_helper
        self._constants, self._suffix, self._made = constants, suffix, made

    def of(self, function: FunctionType) -> FunctionType:
        """The bound copy of a function."""
        copy = self._copy(function)
        self._fill(copy, function)
        return copy

    def _copy(self, function: FunctionType) -> FunctionType:
        """A copy with globals and cells of its own, which are not bound yet."""
        scope = {**function.__globals__, **self._constants}
        cells = tuple(CellType(cell.cell_contents) for cell in function.__closure__ or ())
        copy = FunctionType(function.__code__, scope, function.__name__, None, cells)
        copy.__defaults__, copy.__kwdefaults__ = self._bound(function.__defaults__), function.__kwdefaults__
        copy.__annotations__, copy.__module__ = function.__annotations__, function.__module__
        copy.__qualname__ = f"{function.__qualname__}_{self._suffix}" if self._suffix else function.__qualname__
        return copy

    def _fill(self, copy: FunctionType, function: FunctionType) -> None:
        """Bind what a copy of ``function`` reads."""
        for (name, *attributes), value in globals_read(function).items():
            if name in function.__globals__ and name not in self._constants:
                copy.__globals__[name] = self._at(copy.__globals__[name], attributes, value)
        cells = dict(zip(function.__code__.co_freevars, copy.__closure__ or (), strict=True))
        for (name, *attributes), value in cells_read(function).items():
            if name in cells:
                cells[name].cell_contents = self._at(cells[name].cell_contents, attributes, value)

    def _at(self, root: Any, attributes: Sequence[str], value: Any) -> Any:
        """``root`` with the bound value at the end of a path of attributes.

        A plain function of a module is left to the compiler, which has its own for those of NumPy, unless it is one of
        ``kernels/``.
        """
        if not attributes:
            return self._bound(value)
        if isinstance(value, FunctionType) and not value.__module__.startswith(_KERNELS):
            return root
        return _with(root, attributes, self._bound(value))

    def _bound(self, value: Any) -> Any:
        """What stands for a value in a copy."""
        if getattr(value, "is_primitive", False):
            if value.__name__ not in self._implementations:
                raise KeyError(f"this backend has no implementation for the primitive {value.__name__!r}")
            return self._implementations[value.__name__]
        if isinstance(value, tuple):
            bound = [self._bound(one) for one in value]
            same = all(one is other for one, other in zip(bound, value, strict=True))
            return value if same else value._make(bound) if hasattr(value, "_make") else tuple(bound)
        if isinstance(value, FunctionType):
            if value not in self._made:
                written = unrolled(value)
                copy = self._copy(written)
                self._made[value] = self._compile_helper(copy)  # which compiles at its first call: it may call itself
                self._fill(copy, written)
            return self._made[value]
        if isinstance(getattr(value, "py_func", None), FunctionType) and not is_named(value):
            return self._compiled_anew(value)
        return value

    def _compiled_anew(self, dispatcher: Any) -> Any:
        """What ``numba.njit`` made of a function, for its globals of this moment: Numba keeps those of its first call."""
        if dispatcher not in self._made:
            state, function = dispatcher._reduce_states(), dispatcher.py_func
            copy = self._copy(function)
            others = {"py_func": copy, "uuid": str(uuid4()), "sigs": [], "can_compile": True}
            anew = type(dispatcher)._rebuild(**{name: others.get(name, one) for name, one in state.items()})
            self._made[dispatcher] = anew
            self._fill(copy, function)
            for signature in state.get("sigs", ()):
                anew.compile(signature)
            anew._can_compile = dispatcher._can_compile
        return self._made[dispatcher]


def _with(module: ModuleType, path: Sequence[str], value: Any) -> ModuleType:
    """A copy of a module with another value at the end of a path; the module itself if that is the value."""
    name, *others = path
    found = getattr(module, name)
    value = _with(found, others, value) if others else value
    if value is found:
        return module
    copy = ModuleType(module.__name__)
    vars(copy).update(vars(module))
    setattr(copy, name, value)
    return copy


def helpers(function: Any) -> list[FunctionType]:
    """The plain functions that a function calls."""
    return [one for one in _read(function) if isinstance(one, FunctionType) and not hasattr(one, "is_primitive")]


@cache
def names_reached(function: FunctionType) -> set[str]:
    """The names of all globals, primitives and stubs that a function and the functions it calls read."""
    names = {name for reader in _functions(function) for name, *_ in globals_read(reader)}
    return names | primitives_reached(function)


def primitives_reached(function: FunctionType) -> set[str]:
    """The names of the primitives and stubs that a function and the functions it calls read."""
    values = (value for reader in _functions(function) for value in _read(reader))
    return {value.__name__ for value in values if hasattr(value, "is_primitive")}


def _functions(function: FunctionType) -> list[FunctionType]:
    """A function, and the functions it calls."""
    functions = [function]
    for reader in functions:  # the list grows meanwhile
        functions += [value for value in _read(reader) if isinstance(value, FunctionType) and value not in functions]
    return functions


def _read(function: FunctionType) -> list[Any]:
    """The values that a function reads, and those in tuples among them."""
    values = [*globals_read(function).values(), *cells_read(function).values()]
    for value in values:  # the list grows meanwhile
        if isinstance(value, tuple):
            values += value
    return [getattr(value, "py_func", value) for value in values]


@cache
def _annotated(kernel: Callable[..., Any]) -> dict[str, Any]:
    """{parameter: its annotation}.  Raises TypeError for one that is not there."""
    found: dict[str, Any] = {}
    scope = getattr(inspect.unwrap(kernel), "__globals__", {})
    for name, one in inspect.signature(kernel).parameters.items():
        found[name] = one.annotation
        if isinstance(one.annotation, str):
            try:
                found[name] = eval(one.annotation, scope, cells_of(inspect.unwrap(kernel)))
            except Exception as error:  # whatever such a text raises
                raise _not_there(f"parameter {name} of kernel {kernel.__name__}", one.annotation, error) from None
    return found


def _not_there(what: str, annotation: Any, error: Exception) -> TypeError:
    remedy = "import it outside `if TYPE_CHECKING`, for it says how an argument is passed"
    return TypeError(f"the annotation {annotation} of {what} can't be read ({error}): {remedy}")


@cache
def records(kernel: Callable[..., Any]) -> dict[str, Any]:
    """{parameter: the NamedTuple class that it is annotated with, or None for a number}, in order."""
    return {name: one if is_record(one) else None for name, one in _annotated(kernel).items()}


def is_record(annotation: Any) -> bool:
    """Whether it is a NamedTuple class."""
    return hasattr(annotation, "_fields") and isinstance(annotation, type)


def types_of_fields(record: Any) -> dict[str, Any]:
    """{field of a record: its annotation}.  Raises TypeError for one that is not there."""
    try:
        types = get_type_hints(record, include_extras=True)
    except Exception as error:  # whatever such a text raises
        raise _not_there(f"a field of {record.__name__}", "", error) from None
    return {name: types.get(name, inspect.Parameter.empty) for name in record._fields}


def _numbers(path: tuple[str, ...], annotation: Any) -> Iterator[tuple[tuple[str, ...], Any]]:
    """(path, annotation) of a number: of a parameter, or of each field of its record, and of records in that."""
    if not is_record(annotation):
        yield path, annotation
        return
    for name, one in types_of_fields(annotation).items():
        yield from _numbers((*path, name), one)


@cache
def _launched(kernel: Callable[..., Any]) -> dict[tuple[str, ...], tuple[str, Any]]:
    """{path of a number that a launch passes: (its name, its annotation)}, in order.

    Where two records have a field of the same name, the names of the parameter and of the records come before it.
    """
    numbers = [number for name, one in _annotated(kernel).items() for number in _numbers((name,), one)]
    times = Counter(path[-1] for path, _ in numbers)
    return {path: (path[-1] if times[path[-1]] == 1 else "_".join(path), one) for path, one in numbers}


@cache
def parameters(kernel: Callable[..., Any]) -> tuple[str, ...]:
    """Names of the numbers that a kernel is launched with, in order: its parameters, and the fields of its records."""
    return tuple(name for name, _ in _launched(kernel).values())


@cache
def annotations(kernel: Callable[..., Any]) -> list[Any]:
    """The annotation of each of ``parameters`` after ``ctx``: of the parameter, or of its record's field."""
    return [annotation for _, annotation in _launched(kernel).values()][1:]


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
    free: dict[str, Any] = {}

    def source(path: tuple[str, ...], annotation: Any) -> str:
        if not is_record(annotation):
            name, _ = _launched(kernel)[path]
            return str(constants.get(name, name))
        free[annotation.__name__] = annotation
        inside = ", ".join(source((*path, name), one) for name, one in types_of_fields(annotation).items())
        return f"{annotation.__name__}({inside})"

    return ", ".join(source((name,), one) for name, one in _annotated(kernel).items()), free
