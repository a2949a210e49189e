"""Sizes and numbers as text."""

import re

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
_FACTORS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


def size_text(nbytes: int) -> str:
    """A size as text: 1536 is "1.5 KiB"."""
    power = min(max(nbytes.bit_length() - 1, 0) // 10, len(_UNITS) - 1)
    return f"{nbytes / (1 << 10 * power):.4g} {_UNITS[power]}"


def counted(n: int, noun: str) -> str:
    """A number of things as text, such as "1 PE" and "2 PEs"."""
    return f"{n} {noun}{'s' * (n != 1)}"


def bytes_of(text: str) -> int:
    """The bytes of a size such as 8, 64K or 1g.  Raises ValueError for any other text."""
    match = re.fullmatch(r"(\d{1,20})([kmg]?)", text, re.ASCII | re.IGNORECASE)
    if not match:
        raise ValueError(f"{text!r} is not a size: give bytes with an optional k, m or g, such as 64K")
    return int(match[1]) * _FACTORS[match[2].lower()]
