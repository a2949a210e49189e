"""How many sweeps the next pass does, when the norms of some of them are due."""

from collections.abc import Sequence


def fit(due: Sequence[bool], sizes: Sequence[int]) -> int:
    """The number of sweeps of the next pass: one of ``sizes`` (in decreasing order, with 1), at most len(due).

    due: for each of the next sweeps, whether its norm is due
    A pass computes no norm, the norm of its last sweep, or those of all its sweeps.  The last happens when norms are due
    more often than the longest pass ends.
    """
    dues = [k for k, wanted in enumerate(due) if wanted]
    room = len(due) if len(dues) != 1 else dues[0] + 1
    return next(size for size in sizes if size <= room)


def norms(due: Sequence[bool]) -> str:
    """Which norms a pass with these due computes: "none", "last" or "all"."""
    return "all" if any(due[:-1]) else "last" if due[-1] else "none"
