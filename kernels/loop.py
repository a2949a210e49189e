"""The end of a loop on the device: after each run of its body one thread decides whether the body runs again."""

from typing import NamedTuple

from .block import Elements, Words, add_shared, lanes, load, read_epoch, store

PAUSED, ENDED = 1, 2  # values of ``State.rest``


class State(NamedTuple):
    """Addresses of the int64 words of a loop.

    runs:    number of runs so far
    done:    0 while the loop runs, then 1
    rest:    0 while the device runs the loop, else PAUSED or ENDED
    pause:   number of runs after which the loop pauses, at most ``EndCondition.most``
    resumed: 1 if the next launch continues after a pause, else 0
    """

    runs: Words
    done: Words
    rest: Words
    pause: Words
    resumed: Words


class EndCondition(NamedTuple):
    """A loop ends after the first run with value[0] <= threshold or NaN, and at the latest after run number ``most``."""

    threshold: float
    most: int


def begin(ctx, state: State):
    """A kernel of int64 elements, before the first run of a launch: the loop begins, or continues after a pause."""
    for _ in lanes(0, 1):
        store(state.rest, 0, 0)
        if read_epoch(state.resumed, 0) == 0:
            store(state.runs, 0, 0)
            store(state.done, 0, 0)


def decide(ctx, value: Elements, state: State, end: EndCondition):
    """A kernel that counts a run, and ends the loop after the last run, or pauses it.  It does nothing after the end."""
    for _ in lanes(0, 1):
        if read_epoch(state.done, 0) == 0:
            runs = read_epoch(state.runs, 0) + 1
            if runs >= read_epoch(state.pause, 0) or not load(value, 0) > end.threshold:
                if runs >= end.most or not load(value, 0) > end.threshold:
                    add_shared(state.done, 0, 1)
                    add_shared(state.rest, 0, ENDED)
                else:
                    add_shared(state.rest, 0, PAUSED)
            add_shared(state.runs, 0, 1)
