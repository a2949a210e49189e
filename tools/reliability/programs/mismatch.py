"""python mismatch.py KIND FORM SIZE: the last PE makes another call than the others, then all go on.

FORM: "eager" or "plan".  KIND "all": every kind of KINDS, one after the other, each error caught (PENNYMPI_DEBUG=1).
Prints "untold" where nobody is told.
"""

import sys
import time

import numpy as np
from counting import Count
from on_device import device, same

import pennympi
from pennympi import CollectiveMismatchError


class Calls:
    """The calls of one PE, eager or planned.  A plan is made at once, and called when the step comes."""

    def __init__(self, team, form, size):
        self.team, self.form, self.size = team, form, size
        self.steps = []

    def array(self, dtype="float32", count=None):
        return device(self.team, np.ones(self.size if count is None else count, dtype))

    def add(self, name, *arrays, **more):
        if self.form == "plan":
            self.steps.append(getattr(self.team, f"plan_{name}")(*arrays, **more))
        else:
            self.steps.append(lambda: getattr(self.team, name)(*arrays, **more))


def count(c, odd):
    c.add("allreduce", c.array(count=c.size - odd))


def dtype(c, odd):
    c.add("allreduce", c.array("int32" if odd else "float32"))


def width(c, odd):
    c.add("allreduce", c.array("float64" if odd else "float32"))


def op(c, odd):
    c.add("allreduce", c.array(), op="max" if odd else "sum")


def root(c, odd):
    c.add("broadcast", c.array(), root=1 if odd else 0)


def reduced(c, odd):
    c.add("reduce", c.array(), root=c.team.n_pes - 1 if odd else 0)


def algorithm(c, odd):
    c.add("allreduce", c.array(), algorithm="ring" if odd else "simple_ring")


def order(c, odd):
    c.add("allreduce", c.array())
    c.add("broadcast", c.array(), root=0)
    c.steps.reverse() if odd else None


def sizes(c, odd):
    c.add("allreduce", c.array())
    c.add("allreduce", c.array(count=2 * c.size))
    c.steps.reverse() if odd else None


def equal(c, odd):
    """Two plans that differ in their op only, called in another order."""
    c.add("allreduce", c.array(), op="sum")
    c.add("allreduce", c.array(), op="min")
    c.steps.reverse() if odd else None


def collective(c, odd):
    c.add("reduce", c.array(), root=0) if odd else c.add("allreduce", c.array())


def scattered(c, odd):
    n = c.team.n_pes
    x, out = c.array(count=n * c.size), c.array(count=c.size)
    c.add("all_gather", out, x) if odd else c.add("reduce_scatter", x, out)


def barrier(c, odd):
    c.add("allreduce", c.array())  # where it is a plan, all PEs make it
    c.steps = [c.team.barrier] if odd else c.steps


def missing(c, odd):
    """One PE leaves a call out, and meets the others at the next one."""
    c.add("allreduce", c.array())
    c.add("allreduce", c.array(), op="max")
    c.steps = c.steps[1:] if odd else c.steps


KINDS = {f.__name__: f for f in (count, dtype, width, op, root, reduced, algorithm, order, sizes, equal, collective,
                                 scattered, barrier, missing)}  # fmt: skip


def one(team, form, kind, size):
    odd = team.me == team.n_pes - 1
    calls = Calls(team, form, size)
    KINDS[kind](calls, odd)
    team.comm.Barrier()
    if odd:
        print("fault", time.time(), flush=True)
    for step in calls.steps:
        step()
        team.synchronize()
    x = device(team, np.ones(10, np.float32))
    for _ in range(3):
        team.allreduce(x)
    team.gather(0)
    team.synchronize()


def all_kinds(team, form, size):
    """Debug mode: every PE gets the error, and the library stays usable."""
    counted = Count(team.comm)
    for kind in KINDS:
        if kind == "missing":
            continue
        text, calls = "", Calls(team, form, size)
        try:
            KINDS[kind](calls, team.me == team.n_pes - 1)
        except CollectiveMismatchError as error:
            text = str(error)
        for step in calls.steps:
            try:
                step()
            except CollectiveMismatchError as error:
                text = str(error)
        team.synchronize()
        names = "PE 0" in text and f"PE {team.n_pes - 1}" in text
        counted.right(names, f"{kind}, {form}, {size}: {text or 'not told'}")
        x = device(team, np.ones(12, np.float32))
        team.allreduce(x)
        team.synchronize()
        counted.right(same(x, np.full(12, team.n_pes, np.float32)), f"after {kind}, {form}: a wrong sum")
    counted.tell()


kind, form, size = sys.argv[1], sys.argv[2], int(sys.argv[3])
with pennympi.init() as team:
    y = device(team, np.ones(10, np.float32))
    team.allreduce(y)
    team.synchronize()
    if kind == "all":
        all_kinds(team, form, size)
    else:
        one(team, form, kind, size)
        print("untold", flush=True)
