"""Types of arguments, which check ranges and say what is allowed."""

import re
from argparse import ArgumentTypeError
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from ..bench import sizes
from ..settings import shown

MOST_BYTES = 1 << 46
Type = Callable[[str], Any]


def size(least: int = 1, most: int = MOST_BYTES) -> Type:
    """The bytes of a size such as 64K, in this range."""

    def parse(text: str) -> int:
        try:
            value = sizes.parse(text)
        except ValueError:
            value = -1
        if not least <= value <= most:
            allowed = f"a size from {least} to {most >> 30}G, with an optional K, M or G (64K)"
            raise ArgumentTypeError(f"{shown(text)} is not {allowed}")
        return value

    return parse


def whole(least: int, most: int, multiple: int = 1) -> Type:
    """A whole number in this range, a multiple of ``multiple``."""

    def parse(text: str) -> int:
        value = int(text) if re.fullmatch(r"[0-9]{1,18}", text) else least - 1
        if not least <= value <= most or value % multiple:
            what = f"a multiple of {multiple}" if multiple > 1 else "a whole number"
            raise ArgumentTypeError(f"{shown(text)} is not {what} from {least} to {most}")
        return value

    return parse


def real(least: float, most: float) -> Type:
    """A number in this range."""

    def parse(text: str) -> float:
        value = float(text) if re.fullmatch(r"([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]{1,3})?", text, re.I) else -1.0
        if not least <= value <= most:
            raise ArgumentTypeError(f"{shown(text)} is not a number from {least:g} to {most:g}")
        return value

    return parse


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


def path(text: str) -> Path:
    """A path."""
    if not text.strip() or "\0" in text:
        raise ArgumentTypeError(f"{shown(text)} is not a path")
    return Path(text)
