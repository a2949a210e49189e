"""How many sweeps the next pass takes, when norms are due at some of them."""

from collections.abc import Sequence


def fit(due: Sequence[bool], sizes: Sequence[int]) -> int:
    """Sweeps of the next pass, one of ``sizes`` (the largest first, 1 among them), at most len(due).

    Either no norm is due in the pass, or only that of its last sweep, or all of them are computed: that is what
    happens when they are due more often than the largest pass is long.
    """
    dues = [k for k, wanted in enumerate(due) if wanted]
    room = len(due) if len(dues) != 1 else dues[0] + 1
    return next(size for size in sizes if size <= room)


def norms(due: Sequence[bool]) -> str:
    """Which norms a pass computes: "none", "last" or "all"."""
    return "all" if any(due[:-1]) else "last" if due[-1] else "none"
