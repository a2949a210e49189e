"""The collectives: their calls, and the right results."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from on_device import same
from reductions import expected, own

from pennympi.collectives.calls import ALL
from pennympi.kernels.allreduce import TABLE

TABLES = {"allreduce": TABLE} | {collective.name: collective.table for collective in ALL}


@dataclass(frozen=True)
class Call:
    """A call: dtype name, op, n PEs, this PE, root, and the number of elements of a PE's part.

    phase: position in their period at which the elements begin
    """

    name: str
    op: str
    n: int
    me: int
    root: int
    count: int
    phase: int = 0

    def part_of(self, pe):
        """The input of a PE whose input is a single part."""
        return own(self.name, self.op, self.n, pe, self.count, self.phase)

    def parts_of(self, pe):
        """The input of a PE whose input has a part for each PE."""
        return own(self.name, self.op, self.n, pe, self.n * self.count, self.phase)

    def reduced(self, parts=1):
        """op over ``parts`` parts of all PEs."""
        return expected(self.name, self.op, self.n, parts * self.count, self.phase)

    def part(self, values, pe):
        return values[pe * self.count : (pe + 1) * self.count]


@dataclass(frozen=True)
class Case:
    """A collective.

    rows:     n -> numbers of parts of x and of out
    x:        Call -> input of this PE;  out: Call -> result on this PE, None: no result
    in_place: (the larger array, Call) -> x and out, one of them in the other
    one_array: the call has no out: its result is in x
    """

    name: str
    rows: Callable[[int], tuple[int, int]]
    x: Callable[[Call], np.ndarray]
    out: Callable[[Call], np.ndarray | None]
    in_place: Callable[[Any, Call], tuple[Any, Any]]
    reduces: bool = False
    rooted: bool = False
    one_array: bool = False

    @property
    def table(self):
        return TABLES[self.name]

    def arrays(self, x, out):
        """The arrays to pass; None for an out that is x."""
        return (x,) if self.one_array else (x, None if out is x else out)

    def options(self, call):
        return ({"op": call.op} if self.reduces else {}) | ({"root": call.root} if self.rooted else {})

    def run(self, team, call, x, out, **named):
        return getattr(team, self.name)(*self.arrays(x, out), **self.options(call), **named)

    def plan(self, team, call, x, out, **named):
        return getattr(team, f"plan_{self.name}")(*self.arrays(x, out), **self.options(call), **named)

    def fresh(self, make, call):
        """x, with this PE's input, and out, with zeros, made by ``make``(values); the same array if there is only one."""
        x = make(self.x(call))
        return x, x if self.one_array else make(np.zeros(self.rows(call.n)[1] * call.count, x.dtype))


def whole_twice(whole, c):
    return whole, whole


CASES = {
    case.name: case
    for case in (
        Case("allreduce", lambda n: (1, 1), lambda c: c.part_of(c.me), lambda c: c.reduced(), whole_twice, reduces=True),
        Case(
            "all_gather", lambda n: (1, n), lambda c: c.part_of(c.me),
            lambda c: np.concatenate([c.part_of(pe) for pe in range(c.n)]), lambda whole, c: (c.part(whole, c.me), whole),
        ),
        Case(
            "reduce_scatter", lambda n: (n, 1), lambda c: c.parts_of(c.me), lambda c: c.part(c.reduced(c.n), c.me),
            lambda whole, c: (whole, c.part(whole, c.me)), reduces=True,
        ),
        Case(
            "broadcast", lambda n: (1, 1), lambda c: c.part_of(c.me), lambda c: c.part_of(c.root), whole_twice,
            rooted=True, one_array=True,
        ),
        Case(
            "reduce", lambda n: (1, 1), lambda c: c.part_of(c.me), lambda c: c.reduced() if c.me == c.root else None,
            whole_twice, reduces=True, rooted=True,
        ),
        Case(
            "all_to_all", lambda n: (n, n), lambda c: c.parts_of(c.me),
            lambda c: np.concatenate([c.part(c.parts_of(pe), c.me) for pe in range(c.n)]), whole_twice,
        ),
    )
}  # fmt: skip
ALGORITHMS = [(name, algorithm) for name, case in CASES.items() for algorithm in case.table]


def runs_here(team, collective, algorithm, name="float32", op="sum"):
    """Whether the algorithm can run on this team."""
    return not TABLES[collective][algorithm].why_not(team.pe_topology, name, op)


def is_right(case, call, out, before):
    """Whether out has the right result; ``before`` on a PE without a result."""
    wanted = case.out(call)
    return same(out, before if wanted is None else wanted)
