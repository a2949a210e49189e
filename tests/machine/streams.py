"""Real kernels on several streams of a device with few slots, in the library's order of calls or in none."""

from random import Random

import numpy as np
from noted_streams import NotedStreams

from pennympi.kernels.algorithm import Limits, Place
from pennympi.memory.order import Order

from .arrays import Arrays
from .calls import Collectives
from .device import Launch, Machine
from .network import POINTER
from .program import TABLES, runs_on

ROWS = [
    ("allreduce", "one_shot"),
    ("allreduce", "two_shot_packets"),
    ("allreduce", "tree"),
    ("allreduce planned", "two_shot_copied"),
    ("all_gather", "direct"),
    ("reduce", "ring"),
    ("broadcast", "packets"),
]


def waits_of(launches: list[tuple[Launch, str]]) -> dict[int, set[int]]:
    """Which earlier ones each launch that meets its peers waits for, by the library's order."""
    notes = NotedStreams()
    order, streams = Order(notes), {name: notes.new() for name in "abc"}
    found: dict[int, set[int]] = {}

    def note(number: int, handle: int) -> None:
        found[number] = set(notes.launch(handle, number))

    for number, (launch, name) in enumerate(launches):
        if launch.workspace:
            order.call(note, (number,), streams[name].handle, streams[name])
        else:
            notes.launch(streams[name].handle, number)
    return found


def run_streams(seed: str, ordered: bool, slots: int, calls: int = 10) -> None:
    """Random calls of two teams on up to three streams, the same on all PEs.  Raises Fault.

    ordered: by the library, else only by the streams;  slots: of a device, and blocks at most of a launch
    """
    rng = Random(seed)
    place = Place((0,) * rng.choice((2, 3, 4)), multicast=True)
    machine = Machine(POINTER, place, rng)
    streams = {name: Arrays(machine, plain=False) for name in "abc"[: rng.choice((2, 3))]}
    teams = [Collectives(machine, streams["a"], Limits(slots, 8192)) for _ in range(2)]
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
        waits = waits_of(launches) if ordered else {}
        for number, (launch, stream) in enumerate(launches):
            pe.issue([launch], stream, sorted(waits.get(number, ())))
    try:
        with np.errstate(all="ignore"):
            machine.run()
    except Exception as error:
        error.add_note(f"{place.n_pes} PEs with {slots} slots, streams {', '.join(streams)}; seed {seed!r}")
        raise
