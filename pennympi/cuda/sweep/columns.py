"""Functions of a lane's part of a row, which is a tuple: a closure a column, since loops over tuples are not unrolled."""

from collections.abc import Callable
from typing import Any


def each(column: Callable[[int], Callable[..., Any]], width: int) -> Callable[..., Any]:
    """``row(*args)``: the tuple of column(k)(*args) for k = 0, .., width - 1."""
    row = _first(column(0))
    for k in range(1, width):
        row = _longer(row, column(k))
    return row


def _first(column: Callable[..., Any]) -> Callable[..., Any]:
    def row(*args):
        return (column(*args),)

    return row


def _longer(shorter: Callable[..., Any], column: Callable[..., Any]) -> Callable[..., Any]:
    def row(*args):
        return shorter(*args) + (column(*args),)

    return row
