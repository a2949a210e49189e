"""Types of arguments, which check ranges and say what is allowed."""

from argparse import ArgumentTypeError
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ..bench import sizes
from ..settings import shown

MOST_BYTES = 1 << 46
Type = Callable[[str], Any]


def _number(least: float, most: float, what: str, read: Type) -> Type:
    """What ``read`` makes of a text, in this range.  what: it is, in the message"""

    def parse(text: str) -> Any:
        try:
            value = read(text)
        except ValueError:
            value = None
        if value is None or not least <= value <= most:
            raise ArgumentTypeError(f"{shown(text)} is not {what}")
        return value

    return parse


def size(least: int = 1, most: int = MOST_BYTES) -> Type:
    """The bytes of a size such as 64K, in this range."""
    what = f"a size from {least} to {most >> 30}G, with an optional K, M or G (64K)"
    return _number(least, most, what, sizes.parse)


def whole(least: int, most: int) -> Type:
    """A whole number in this range."""
    return _number(least, most, f"a whole number from {least} to {most}", int)


def real(least: float, most: float) -> Type:
    """A number in this range."""
    return _number(least, most, f"a number from {least:g} to {most:g}", float)


def names(known: Iterable[str], what: str, other_names: Mapping[str, str] | None = None, also_all: bool = True) -> Type:
    """The names in a list such as nccl,mpi: some of ``known``, or "all" of them.

    what: a name's kind, for the message;  other_names: {another name: the name in ``known``}
    """
    known, other_names = list(known), other_names or {}

    def parse(text: str) -> list[str]:
        if also_all and text == "all":
            return known
        found = list(dict.fromkeys(other_names.get(name, name) for name in text.split(",")))
        for name in found:
            if name not in known:
                some = f"use {'all, or ' if also_all else ''}some of {', '.join(known)}, with commas between"
                raise ArgumentTypeError(f"{what} {shown(name)} is unknown: {some}")
        return found

    return parse


def listed(one: Type) -> Type:
    """A list such as 16,32K, each of which ``one`` parses."""
    return lambda text: [one(part) for part in text.split(",")]
