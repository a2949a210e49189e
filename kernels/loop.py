"""The end of a loop on the device: after each run of its body one thread decides whether there is another one."""

from typing import NamedTuple

from .block import Elements, Words, add_shared, lanes, load, read_epoch, store


class Last(NamedTuple):
    """The last run is the first one with value[0] <= below, or NaN, or the one of number ``most``."""

    below: float
    most: int


def begin(ctx, runs: Words, done: Words):
    """No run yet: a kernel of int64 elements."""
    for _ in lanes(0, 1):
        store(runs, 0, 0)
        store(done, 0, 0)


def decide(ctx, value: Elements, runs: Words, done: Words, last: Last):
    """After a run: count it, and end the loop if it was the last one.  Nothing after its end."""
    for _ in lanes(0, 1):
        if read_epoch(done, 0) == 0:
            if read_epoch(runs, 0) + 1 >= last.most or not load(value, 0) > last.below:
                add_shared(done, 0, 1)
            add_shared(runs, 0, 1)
