"""Types of arguments, which check ranges and name the allowed values; the options for a range of sizes."""

from argparse import ArgumentTypeError, Namespace
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ..settings import MOST_BYTES, shown
from ..units import bytes_of, size_text

MOST_SIZES = 1000  # most sizes of a range
Type = Callable[[str], Any]


def _number(least: float, most: float, kind: str, read: Type) -> Type:
    """The number that ``read`` makes of a text, from ``least`` to ``most``.  kind: kind of number, for the message"""

    def parse(text: str) -> Any:
        try:
            value = read(text)
        except ValueError:
            value = None
        if value is None or not least <= value <= most:
            raise ArgumentTypeError(f"{shown(text)} is not {kind}")
        return value

    return parse


def size(least: int = 1) -> Type:
    """The bytes of a size such as 64K; at least ``least``."""
    kind = f"a size from {least} to {MOST_BYTES >> 30}G, with an optional K, M or G (64K)"
    return _number(least, MOST_BYTES, kind, bytes_of)


def whole(least: int, most: int) -> Type:
    """A whole number in this range."""
    return _number(least, most, f"a whole number from {least} to {most}", int)


def real(least: float, most: float) -> Type:
    """A number in this range."""
    return _number(least, most, f"a number from {least:g} to {most:g}", float)


def names(known: Iterable[str], kind: str, aliases: Mapping[str, str] | None = None, with_all: bool = True) -> Type:
    """The names in a list such as nccl,mpi: some of ``known``, or "all" of them.

    kind: kind of the names, for the message;  aliases: {additional name: the name in ``known``};  with_all: allow "all"
    """
    known, aliases = list(known), aliases or {}

    def parse(text: str) -> list[str]:
        if with_all and text == "all":
            return known
        chosen = list(dict.fromkeys(aliases.get(name, name) for name in text.split(",")))
        for name in chosen:
            if name not in known:
                allowed = f"use {'all, or ' if with_all else ''}some of {', '.join(known)}, with commas between"
                raise ArgumentTypeError(f"{kind} {shown(name)} is unknown: {allowed}")
        return chosen

    return parse


def listed(element: Type) -> Type:
    """A list such as 16,32K, whose elements ``element`` parses."""
    return lambda text: [element(part) for part in text.split(",")]


def add_sizes(add: Callable[..., Any], end: str) -> None:
    """Add the options for a range of sizes.  end: text of the default largest size"""
    text = "smallest size of a vector, in bytes, or as 64K or 1M (default: 1K)"
    add("-b", "--minbytes", type=size(), default=1 << 10, metavar="SIZE", help=text)
    text = f"largest size of a vector, in bytes (default: {end})"
    add("-e", "--maxbytes", type=size(), default=0, metavar="SIZE", help=text)
    text = "factor from one size to the next (default: %(default)g)"
    add("-f", "--stepfactor", type=real(1.001, 1e6), default=4, metavar="F", help=text)


def sizes_of(args: Namespace, end_bytes: int, step: int = 0) -> list[int]:
    """The sizes of a range, in bytes, each larger by ``step`` or by a factor than the one before.  Raises ValueError.

    end_bytes: default largest size
    """
    begin, factor = args.minbytes, args.stepfactor
    end = args.maxbytes or max(begin, end_bytes)
    how = f"adding {size_text(step)}" if step else f"a factor of {factor:g}"
    text = f"sizes from {size_text(begin)} to {size_text(end)} by {how}"
    if end < begin:
        raise ValueError(f"{text}: the largest must not be smaller than the smallest")
    sizes = [begin]
    while (next_size := sizes[-1] + step if step else max(sizes[-1] + 1, int(sizes[-1] * factor))) <= end:
        if len(sizes) == MOST_SIZES:
            raise ValueError(f"{text} are more than {MOST_SIZES}: step by more, or end earlier")
        sizes.append(next_size)
    return sizes
