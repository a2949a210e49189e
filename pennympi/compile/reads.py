"""The values that a function reads besides its arguments: globals, free variables, and attributes of modules."""

import builtins
import dis
from collections.abc import Iterable, Mapping
from functools import cache
from itertools import chain
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple

_ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD")
_BETWEEN = ("EXTENDED_ARG", "CACHE")
Path = tuple[str, ...]


class Reads(NamedTuple):
    """The paths that code and the functions nested in it read: a name, and the attributes read from its value."""

    of_globals: tuple[Path, ...]
    of_cells: tuple[Path, ...]


@cache
def reads(code: CodeType) -> Reads:
    """The paths that code reads."""
    of_globals: list[list[str]] = []
    of_cells: list[list[str]] = []
    path: list[str] = []
    for instruction in dis.get_instructions(code):
        operation, name = instruction.opname, instruction.argval
        if operation in _ATTRIBUTES:
            path.append(name)
        elif operation not in _BETWEEN:
            path = [name]
            if operation in ("LOAD_GLOBAL", "LOAD_NAME"):
                of_globals.append(path)
            elif operation == "LOAD_DEREF":
                of_cells.append(path)
    nested = [reads(const) for const in code.co_consts if isinstance(const, CodeType)]
    return Reads(
        tuple(dict.fromkeys(chain(map(tuple, of_globals), *(inner.of_globals for inner in nested)))),
        tuple(dict.fromkeys(chain(map(tuple, of_cells), *(inner.of_cells for inner in nested)))),
    )


def cells_of(function: FunctionType) -> dict[str, Any]:
    """{free variable: its value}, without variables that have no value yet."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    return {name: cell.cell_contents for name, cell in cells if cell != CellType()}


def globals_read(function: FunctionType) -> dict[Path, Any]:
    """{path: value} of the globals that a function reads; a path goes through modules to a value that is none."""
    return _values(vars(builtins) | function.__globals__, reads(function.__code__).of_globals)


def cells_read(function: FunctionType) -> dict[Path, Any]:
    """{path: value} of the free variables that a function reads, as ``globals_read``."""
    return _values(cells_of(function), reads(function.__code__).of_cells)


def _values(scope: Mapping[str, Any], paths: Iterable[Path]) -> dict[Path, Any]:
    """{path: value}.  A path ends at the first value that is not a module; the value of an undefined name is None."""
    values: dict[Path, Any] = {}
    for name, *attributes in paths:
        value, length = scope.get(name), 1
        for attribute in attributes:
            if not isinstance(value, ModuleType):
                break
            value, length = getattr(value, attribute, None), length + 1
        values[(name, *attributes[: length - 1])] = value
    return values
