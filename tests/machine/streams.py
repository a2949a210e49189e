"""Real kernels on several streams of a device with few slots, held in an order by a policy of ``residency.py``."""

from random import Random

import numpy as np

from pennympi.kernels.algorithm import Limits, Place

from .arrays import Arrays
from .calls import Collectives
from .device import Launch, Machine
from .network import POINTER
from .program import TABLES, runs_on
from .residency import Policy

ROWS = [
    ("allreduce", "one_shot"),
    ("allreduce", "two_shot_packets"),
    ("allreduce", "tree"),
    ("allreduce planned", "two_shot_copied"),
    ("all_gather", "direct"),
    ("reduce", "ring"),
    ("broadcast", "packets"),
]


def run_streams(seed: str, policy: Policy, slots: int, most_blocks: int, calls: int = 10) -> None:
    """Random calls of two teams on up to three streams, the same on all PEs.  Raises Fault.

    slots: of a device;  most_blocks: of a launch
    """
    rng = Random(seed)
    place = Place((0,) * rng.choice((2, 3, 4)), multicast=True)
    machine = Machine(POINTER, place, rng)
    streams = {name: Arrays(machine, plain=False) for name in "abc"[: rng.choice((2, 3))]}
    teams = [Collectives(machine, streams["a"], Limits(most_blocks, 8192)) for _ in range(2)]
    rows = [(table, TABLES[table][name]) for table, name in rng.sample(ROWS, 3)]
    issued: list[list[tuple[Launch, str]]] = [[] for _ in machine.pes]
    for number in range(calls):
        stream, team, (table, row) = rng.choice([*streams]), rng.choice(teams), rng.choice(rows)
        assert runs_on(row, place)
        team.arrays = streams[stream]
        for launches, one in zip(issued, team.call(table, row, rng, number), strict=True):
            launches += [(launch, stream) for launch in one]
    for pe, launches in zip(machine.pes, issued, strict=True):
        pe.slots = slots
        meeting = [number for number, (launch, _) in enumerate(launches) if launch.workspace]
        found = policy([(launches[n][1], launches[n][0].blocks, launches[n][0].workspace) for n in meeting])
        waits = {n: [meeting[i] for i in before] for n, before in zip(meeting, found, strict=True)}
        for number, (launch, stream) in enumerate(launches):
            pe.issue([launch], stream, waits.get(number, []))
    try:
        with np.errstate(all="ignore"):
            machine.run()
    except Exception as error:
        error.add_note(f"{place.n_pes} PEs with {slots} slots, streams {', '.join(streams)}; seed {seed!r}")
        raise
