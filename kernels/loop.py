"""The end of a loop on the device: after each run of its body one thread decides whether the body runs again."""

from typing import NamedTuple

from .block import Elements, Words, add_shared, lanes, load, read_epoch, store


class Last(NamedTuple):
    """The end of a loop: the first run with value[0] <= threshold, or NaN, or run number ``most``."""

    threshold: float
    most: int


def begin(ctx, runs: Words, done: Words):
    """A kernel of int64 elements that sets the counters before the first run."""
    for _ in lanes(0, 1):
        store(runs, 0, 0)
        store(done, 0, 0)


def decide(ctx, value: Elements, runs: Words, done: Words, last: Last):
    """A kernel that counts a run, and ends the loop after the last run.  It does nothing in a loop that has ended."""
    for _ in lanes(0, 1):
        if read_epoch(done, 0) == 0:
            if read_epoch(runs, 0) + 1 >= last.most or not load(value, 0) > last.threshold:
                add_shared(done, 0, 1)
            add_shared(runs, 0, 1)
