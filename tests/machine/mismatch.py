"""Programs in which some PEs make another call of the same row than the others do."""

from random import Random
from typing import Any

import numpy as np

from pennympi.compile.bind import parameters
from pennympi.kernels.algorithm import Limits

from .calls import Arrays, collective
from .device import Launch, Machine
from .faults import Fault
from .memory import EPOCHS
from .network import COPIED, POINTER
from .program import MAX_BLOCKS, PLAIN, PROGRAMS, SYMMETRIC, TABLES, Case, place_for, runs_on
from .workspaces import Workspace

WORDS, ALL = "words", "all"  # the other call differs in its description only, as with another op; in all that it may
ROOTED = ("broadcast", "reduce")


def run_mismatch(table: str, name: str, network: str, differs: str, seed: str, row: Any = None) -> bool:
    """Right calls, a call that some PEs make otherwise, and right calls.  Whether a PE was told.

    row: to run in place of that of the table

    Raises Fault for a wrong result of a PE that has not given up, for an access outside an object, and where nobody is
    told though somebody had to wait.
    """
    rng, row = Random(seed), row or TABLES[table][name]
    place = place_for(rng, network)
    while not runs_on(row, place):
        place = place_for(rng, network)
    machine = Machine(network, place, rng)
    machine.may_differ, machine.patience.ends, machine.patience.first = True, True, -1
    limits = Limits(rng.choice((1, 2, MAX_BLOCKS)), 8192 if place.n_pes <= 5 else 16384)
    arrays = Arrays(machine, network in (POINTER, COPIED) and "planned" not in table)
    workspace = Workspace(machine, row, limits)

    def call(number: int, plan_number: int = 0) -> list[list[Launch]]:
        return collective(machine, table, row, workspace, arrays, limits, rng, number, plan_number)

    others = rng.sample(range(place.n_pes), rng.randrange(1, place.n_pes))
    before = rng.randrange(3)
    for number in range(before):
        issue(machine, call(number))
    state = rng.getstate()
    one = call(before)
    if differs == WORDS:
        rng.setstate(state)
    other = call(before, plan_number=1)
    mixed = [(other if pe in others else one)[pe] for pe in range(place.n_pes)]
    issue(machine, mixed)
    roots = {argument(streams[0], row, "root") for streams in mixed}
    if len(roots) == 1 or table not in ROOTED:  # else nobody need wait, and the next meeting of the PEs tells
        for number in range(before + 1, before + 1 + rng.randrange(3)):
            issue(machine, call(number))
    try:
        with np.errstate(all="ignore"):
            machine.run()
        signatures = {argument(streams[0], row, "signature") // EPOCHS for streams in mixed}
        if not any(machine.patience.gave_up) and len(signatures) > 1 and (len(roots) == 1 or table not in ROOTED):
            raise Fault("nobody was told of another call")
    except Exception as error:
        error.add_note(f"{table}/{name} on {network}, {differs}; {place.n_pes} PEs, {others} differ; seed {seed!r}")
        raise
    return bool(machine.told)


def issue(machine: Machine, streams: list[list[Launch]]) -> None:
    """A call to the streams of all PEs."""
    for pe, stream in zip(machine.pes, streams, strict=True):
        pe.issue(stream)


def argument(launch: Launch, row: Any, name: str) -> int:
    """A number of a launch; 0 if its kernel does not take it."""
    names = parameters(row.kernel)
    return launch.args[names.index(name)] if name in names else 0


def mismatch_cases(cases: list[Case]) -> list[tuple[str, str, str, str]]:
    """(table, row, network, what differs) for the cases of collectives."""
    found = []
    for case in cases:
        table, name = case.rows[0]
        if table not in ("exchange", "one_sided", *PROGRAMS) and case.arrays == (
            PLAIN if case.network in (POINTER, COPIED) and "planned" not in table else SYMMETRIC
        ):
            found += [(table, name, case.network, differs) for differs in (WORDS, ALL)]
    return found
