"""What a function reads beside its arguments: globals, free variables, and attributes of modules among them."""

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
    """The paths that code and the functions nested in it read: a name, and the attributes that are read of its value."""

    of_globals: tuple[Path, ...]
    of_cells: tuple[Path, ...]


@cache
def reads(code: CodeType) -> Reads:
    """What code reads."""
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
    nested = [reads(one) for one in code.co_consts if isinstance(one, CodeType)]
    return Reads(
        tuple(dict.fromkeys(chain(map(tuple, of_globals), *(one.of_globals for one in nested)))),
        tuple(dict.fromkeys(chain(map(tuple, of_cells), *(one.of_cells for one in nested)))),
    )


def cells_of(function: FunctionType) -> dict[str, Any]:
    """{free variable: its value}, without those that have none yet."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    return {name: cell.cell_contents for name, cell in cells if cell != CellType()}


def globals_read(function: FunctionType) -> dict[Path, Any]:
    """{path: value} of the globals that a function reads, and of what it reads of modules by way of them."""
    return _values(vars(builtins) | function.__globals__, reads(function.__code__).of_globals)


def cells_read(function: FunctionType) -> dict[Path, Any]:
    """The same for its free variables."""
    return _values(cells_of(function), reads(function.__code__).of_cells)


def _values(scope: Mapping[str, Any], paths: Iterable[Path]) -> dict[Path, Any]:
    """{path: value}.  A path ends at the first value that is no module; None for a name that is not there."""
    found: dict[Path, Any] = {}
    for name, *attributes in paths:
        value, length = scope.get(name), 1
        for attribute in attributes:
            if not isinstance(value, ModuleType):
                break
            value, length = getattr(value, attribute, None), length + 1
        found[(name, *attributes[: length - 1])] = value
    return found
