"""A copy of a kernel, a plain Python function, that a backend can compile.

A kernel calls primitives, and a backend has an implementation of each.  ``bind`` makes a copy of the kernel with other
globals: each primitive is replaced by the backend's compiled implementation, each plain function by a compiled copy that
is bound in the same way.  Numbers stay as they are.  A kernel may also name primitives and functions by their module, as
in ``block.wait``.
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
    compiled: dict[Any, Any] | None = None,
) -> FunctionType:
    """Return a copy of ``kernel`` with each primitive replaced by ``implementations[name]``.

    compile_helper: makes a device function of a plain function that the kernel calls
    constants:      values that replace globals of the kernel and of the functions that it calls
    suffix:         end of the copy's name, which tells apart copies with different implementations, since the symbol of a
                    compiled function holds only its name and its argument types, which are int64 for every dtype
    compiled:       results of earlier calls of ``compile_helper``, so that a function is compiled once for many callers
    Raises KeyError for a primitive or stub that has neither an implementation nor a constant.
    """
    compiled = {} if compiled is None else compiled
    return _Binding(implementations, compile_helper, constants or {}, suffix, compiled).of(unrolled(kernel))


class _Binding:
    """See ``bind``."""

    def __init__(
        self,
        implementations: Mapping[str, Any],
        compile_helper: Callable[..., Any],
        constants: Mapping[str, Any],
        suffix: str,
        compiled: dict[Any, Any],
    ):
        self._implementations, self._compile_helper = implementations, compile_helper
        self._constants, self._suffix, self._compiled = constants, suffix, compiled

    def of(self, function: FunctionType) -> FunctionType:
        """The bound copy of a function."""
        copy = self._copy(function)
        self._fill(copy, function)
        return copy

    def _copy(self, function: FunctionType) -> FunctionType:
        """A copy with its own globals and cells, which are not bound yet."""
        scope = {**function.__globals__, **self._constants}
        cells = tuple(CellType(cell.cell_contents) for cell in function.__closure__ or ())
        copy = FunctionType(function.__code__, scope, function.__name__, None, cells)
        copy.__defaults__, copy.__kwdefaults__ = self._bound(function.__defaults__), function.__kwdefaults__
        copy.__annotations__, copy.__module__ = function.__annotations__, function.__module__
        copy.__qualname__ = f"{function.__qualname__}_{self._suffix}" if self._suffix else function.__qualname__
        return copy

    def _fill(self, copy: FunctionType, function: FunctionType) -> None:
        """Bind the globals and free variables that a copy of ``function`` reads."""
        for (name, *attributes), value in globals_read(function).items():
            if name in function.__globals__ and name not in self._constants:
                copy.__globals__[name] = self._bound_root(copy.__globals__[name], attributes, value)
        cells = dict(zip(function.__code__.co_freevars, copy.__closure__ or (), strict=True))
        for (name, *attributes), value in cells_read(function).items():
            if name in cells:
                cells[name].cell_contents = self._bound_root(cells[name].cell_contents, attributes, value)

    def _bound_root(self, root: Any, attributes: Sequence[str], value: Any) -> Any:
        """``root`` with the bound value at the end of a path of attributes.

        Plain functions of modules outside ``kernels/`` are not bound, since the compiler has its own implementations of
        NumPy's.
        """
        if not attributes:
            return self._bound(value)
        if isinstance(value, FunctionType) and not value.__module__.startswith(_KERNELS):
            return root
        return _with(root, attributes, self._bound(value))

    def _bound(self, value: Any) -> Any:
        """The replacement of a value in a copy."""
        if getattr(value, "is_primitive", False):
            if value.__name__ not in self._implementations:
                raise KeyError(f"this backend has no implementation for the primitive {value.__name__!r}")
            return self._implementations[value.__name__]
        if isinstance(value, tuple):
            bound = [self._bound(element) for element in value]
            same = all(new is old for new, old in zip(bound, value, strict=True))
            return value if same else value._make(bound) if hasattr(value, "_make") else tuple(bound)
        if isinstance(value, FunctionType):
            if value not in self._compiled:
                written = unrolled(value)
                copy = self._copy(written)
                self._compiled[value] = self._compile_helper(copy)  # before the copy is filled, for it may call itself
                self._fill(copy, written)
            return self._compiled[value]
        if isinstance(getattr(value, "py_func", None), FunctionType) and not is_named(value):
            return self._recompiled(value)
        return value

    def _recompiled(self, dispatcher: Any) -> Any:
        """A function of ``numba.njit`` compiled again with the present globals: Numba keeps those of the first call."""
        if dispatcher not in self._compiled:
            state, function = dispatcher._reduce_states(), dispatcher.py_func
            copy = self._copy(function)
            changes = {"py_func": copy, "uuid": str(uuid4()), "sigs": [], "can_compile": True}
            result = type(dispatcher)._rebuild(**{name: changes.get(name, value) for name, value in state.items()})
            self._compiled[dispatcher] = result
            self._fill(copy, function)
            for signature in state.get("sigs", ()):
                result.compile(signature)
            result._can_compile = dispatcher._can_compile
        return self._compiled[dispatcher]


def _with(module: ModuleType, path: Sequence[str], value: Any) -> ModuleType:
    """A copy of a module with ``value`` at the end of a path; the module itself if ``value`` is there already."""
    name, *inner_path = path
    old = getattr(module, name)
    value = _with(old, inner_path, value) if inner_path else value
    if value is old:
        return module
    copy = ModuleType(module.__name__)
    vars(copy).update(vars(module))
    setattr(copy, name, value)
    return copy


def helpers(function: Any) -> list[FunctionType]:
    """The plain functions that a function calls."""
    values = _values_read(function)
    return [value for value in values if isinstance(value, FunctionType) and not hasattr(value, "is_primitive")]


@cache
def names_reached(function: FunctionType) -> set[str]:
    """The names of all globals, primitives and stubs that a function and the functions it calls read."""
    names = {name for reader in functions_reached(function) for name, *_ in globals_read(reader)}
    return names | primitives_reached(function)


def primitives_reached(function: FunctionType) -> set[str]:
    """The names of the primitives and stubs that a function and the functions it calls read."""
    values = (value for reader in functions_reached(function) for value in _unwrapped_values(reader))
    return {value.__name__ for value in values if hasattr(value, "is_primitive")}


def functions_reached(function: FunctionType) -> list[FunctionType]:
    """A function, and the functions it calls."""
    functions = [function]
    for reader in functions:  # the loop appends to the list
        values = _unwrapped_values(reader)
        functions += [value for value in values if isinstance(value, FunctionType) and value not in functions]
    return functions


def _unwrapped_values(function: FunctionType) -> list[Any]:
    """The values that a function reads; a function that Numba has compiled is replaced by its plain function."""
    return [getattr(value, "py_func", value) for value in _values_read(function)]


def _values_read(function: FunctionType) -> list[Any]:
    """The values that a function reads, and the elements of tuples among them."""
    values = [*globals_read(function).values(), *cells_read(function).values()]
    for value in values:  # the loop appends to the list
        if isinstance(value, tuple):
            values += value
    return values


@cache
def _annotated(kernel: Callable[..., Any]) -> dict[str, Any]:
    """{parameter: its annotation}.  Raises TypeError if an annotation can't be evaluated."""
    annotations: dict[str, Any] = {}
    scope = getattr(inspect.unwrap(kernel), "__globals__", {})
    for name, parameter in inspect.signature(kernel).parameters.items():
        annotations[name] = parameter.annotation
        if isinstance(parameter.annotation, str):
            try:
                annotations[name] = eval(parameter.annotation, scope, cells_of(inspect.unwrap(kernel)))
            except Exception as error:  # evaluating the text may raise any exception
                what = f"parameter {name} of kernel {kernel.__name__}"
                raise _unreadable(what, parameter.annotation, error) from None
    return annotations


def _unreadable(what: str, annotation: Any, error: Exception) -> TypeError:
    remedy = "import it outside `if TYPE_CHECKING`, for it says how an argument is passed"
    return TypeError(f"the annotation {annotation} of {what} can't be read ({error}): {remedy}")


@cache
def records(kernel: Callable[..., Any]) -> dict[str, Any]:
    """{parameter: its NamedTuple class, or None for a number}, in order."""
    return {name: kind if is_record(kind) else None for name, kind in _annotated(kernel).items()}


def is_record(annotation: Any) -> bool:
    """Whether an annotation is a NamedTuple class."""
    return hasattr(annotation, "_fields") and isinstance(annotation, type)


def types_of_fields(record: Any) -> dict[str, Any]:
    """{field of a record: its annotation}.  Raises TypeError if an annotation can't be evaluated."""
    try:
        types = get_type_hints(record, include_extras=True)
    except Exception as error:  # evaluating the text may raise any exception
        raise _unreadable(f"a field of {record.__name__}", "", error) from None
    return {name: types.get(name, inspect.Parameter.empty) for name in record._fields}


def _numbers(path: tuple[str, ...], annotation: Any) -> Iterator[tuple[tuple[str, ...], Any]]:
    """(path, annotation) of each number in a parameter, which is a number or a record of numbers and records."""
    if not is_record(annotation):
        yield path, annotation
        return
    for name, kind in types_of_fields(annotation).items():
        yield from _numbers((*path, name), kind)


@cache
def _launched(kernel: Callable[..., Any]) -> dict[tuple[str, ...], tuple[str, Any]]:
    """{path of a number that a launch passes: (its name, its annotation)}, in order.

    A field name that two records share gets the names of the parameter and of the records in front.
    """
    numbers = [number for name, kind in _annotated(kernel).items() for number in _numbers((name,), kind)]
    times = Counter(path[-1] for path, _ in numbers)
    return {path: (path[-1] if times[path[-1]] == 1 else "_".join(path), kind) for path, kind in numbers}


@cache
def parameters(kernel: Callable[..., Any]) -> tuple[str, ...]:
    """Names of the numbers that a kernel is launched with, in order: its parameters, and the fields of its records."""
    return tuple(name for name, _ in _launched(kernel).values())


@cache
def annotations(kernel: Callable[..., Any]) -> list[Any]:
    """The annotations of ``parameters`` after ``ctx``, each of a parameter or of a field of its record."""
    return [annotation for _, annotation in _launched(kernel).values()][1:]


def annotated_kinds(kernel: Callable[..., Any]) -> str:
    """The value of ``KernelOptions.kinds`` for a kernel's annotations: "f" for float, else "i"."""
    return "".join("f" if annotation is float else "i" for annotation in annotations(kernel))


def is_tagged(kernel: Callable[..., Any]) -> bool:
    """Whether the epochs of a kernel carry the tag of its call; all other waits compare whole words."""
    return Work in records(kernel).values()


def call_source(kernel: Callable[..., Any], constants: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The arguments of a call of ``kernel`` as Python source over the names of ``parameters``, and the names it reads.

    constants: {name: number that replaces it}.  Records cost nothing, since the compiler takes them apart.
    """
    free: dict[str, Any] = {}

    def source(path: tuple[str, ...], annotation: Any) -> str:
        if not is_record(annotation):
            name, _ = _launched(kernel)[path]
            return str(constants.get(name, name))
        free[annotation.__name__] = annotation
        fields = types_of_fields(annotation).items()
        inside = ", ".join(source((*path, name), kind) for name, kind in fields)
        return f"{annotation.__name__}({inside})"

    return ", ".join(source((name,), kind) for name, kind in _annotated(kernel).items()), free
