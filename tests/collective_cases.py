"""The collectives beside AllReduce: how each is called, and what must come out."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from reductions import expected, own

from pennympi.kernels.all_gather import TABLE as ALL_GATHER
from pennympi.kernels.reduce_scatter import TABLE as REDUCE_SCATTER


@dataclass(frozen=True)
class Call:
    """One call: dtype name, op, n PEs, this PE, root, and the elements of one PE's part."""

    name: str
    op: str
    n: int
    me: int
    root: int
    count: int

    def given(self, pe):
        """What a PE gives when it gives one part."""
        return own(self.name, self.op, self.n, pe, self.count)

    def given_to_all(self, pe):
        """What a PE gives when it gives a part for each."""
        return own(self.name, self.op, self.n, pe, self.n * self.count)

    def part(self, values, pe):
        return values[pe * self.count : (pe + 1) * self.count]


@dataclass(frozen=True)
class Case:
    """One collective.

    rows:     parts of x and of out, given n
    x:        Call -> what this PE gives;  out: Call -> what it gets
    arguments: Call -> the call's arguments after x and out
    in_place: (x and out when one is in the other) given the larger one and the Call
    """

    table: dict[str, Any]
    rows: Callable[[int], tuple[int, int]]
    x: Callable[[Call], np.ndarray]
    out: Callable[[Call], np.ndarray]
    in_place: Callable[[Any, Call], tuple[Any, Any]]
    reduces: bool = False
    rooted: bool = False

    def arguments(self, call):
        """What follows x and out."""
        return ({"op": call.op} if self.reduces else {}) | ({"root": call.root} if self.rooted else {})


CASES = {
    "all_gather": Case(
        ALL_GATHER,
        lambda n: (1, n),
        lambda c: c.given(c.me),
        lambda c: np.concatenate([c.given(pe) for pe in range(c.n)]),
        lambda whole, c: (c.part(whole, c.me), whole),
    ),
    "reduce_scatter": Case(
        REDUCE_SCATTER,
        lambda n: (n, 1),
        lambda c: c.given_to_all(c.me),
        lambda c: c.part(expected(c.name, c.op, c.n, c.n * c.count), c.me),
        lambda whole, c: (whole, c.part(whole, c.me)),
        reduces=True,
    ),
}
ALGORITHMS = [(name, algorithm) for name, case in CASES.items() for algorithm in case.table]


def runs_here(team, collective, algorithm, name="float32", op="sum"):
    """Whether the algorithm says that it can."""
    return not CASES[collective].table[algorithm].refuse(team.place, name, op)
