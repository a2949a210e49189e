"""The levels of a pass: each is a closure over the next one, and its state holds that of the next one."""

from collections.abc import Callable
from typing import Any, NamedTuple

from ...kernels.sweep.formula import Stencil
from ...kernels.sweep.norm import LEVEL_BYTES, no_squares
from .norm import add_squares_of_warp
from .rows import squares_of


class Level(NamedTuple):
    """What a level does.

    start(rows, given) -> state: (rows that it remembers, the squares of its changes, the state of the next level)
    advance(state, ...) -> state: takes a row of the level before
    finish(state, words): adds its squares to the words, of which the first are those of level ``first``
    add(squares, new, old, lane) -> squares
    """

    start: Callable[..., Any]
    advance: Callable[..., Any]
    finish: Callable[..., None]
    add: Callable[..., Any]


def _nothing(*args):
    return ()


def _first(squares, *args):
    return squares


def after_last(advance: Callable[..., Any]) -> Level:
    """What takes the rows of the last level."""
    return Level(_nothing, advance, _nothing, _first)


def level(stencil: Stencil, later: int, depth: int, norms: str, then: Level) -> Level:
    """A level after which there are ``later`` more, of ``depth`` in all; ``advance`` is the caller's to replace."""
    summed = norms == "every" or (norms == "last" and later == 0)
    begin, add, end = (no_squares, squares_of(stencil), add_squares_of_warp) if summed else (_nothing, _first, _nothing)
    offset = (depth - 1 - later) * LEVEL_BYTES if norms == "every" else 0
    next_start, next_finish = then.start, then.finish

    def start(rows, given):
        return rows, begin(), next_start(rows, given)

    def finish(state, words):
        _, squares, after = state
        end(words + offset, squares)
        next_finish(after, words)

    return Level(start, then.advance, finish, add)
