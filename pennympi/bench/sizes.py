"""Sizes in bytes: parsed as by nccl-tests, and swept."""

from ..units import size_text as show

__all__ = ["parse", "show", "sweep"]

UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
MOST_SIZES = 1000  # of a sweep


def parse(text: str) -> int:
    """The bytes of a size such as 8, 64K or 1G.  Raises ValueError for any other text."""
    unit = text[-1:].upper() if text[-1:].isalpha() else ""
    digits = text[: len(text) - len(unit)]
    if unit not in UNITS or not (digits.isascii() and digits.isdigit() and len(digits) < 19):
        raise ValueError(f"{text!r} is not a size: give bytes with an optional K, M or G, such as 64K")
    return int(digits) * UNITS[unit]


def sweep(begin: int, end: int, factor: float, step: int) -> list[int]:
    """begin, begin * factor, ... up to end; if step is not 0, begin, begin + step, ...  All in bytes, except factor.

    Raises ValueError for more than MOST_SIZES sizes, or none.
    """
    how = f"sizes from {show(begin)} to {show(end)} by {f'adding {show(step)}' if step else f'a factor of {factor:g}'}"
    if begin < 1 or end < begin or (step < 1 and factor <= 1):
        raise ValueError(f"{how}: begin at 1 or more, end no earlier, and grow")
    sizes = [begin]
    while (following := sizes[-1] + step if step else max(sizes[-1] + 1, int(sizes[-1] * factor))) <= end:
        if len(sizes) == MOST_SIZES:
            raise ValueError(f"{how} are more than {MOST_SIZES}: step by more, or end earlier")
        sizes.append(following)
    return sizes
