"""Runs of many calls: which PEs, which network, which rows, all from one seed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np

from pennympi.kernels import (
    all_gather,
    all_gatherv,
    all_to_all,
    all_to_allv,
    allreduce,
    broadcast,
    exchange,
    reduce,
    reduce_scatter,
    reduce_scatterv,
)
from pennympi.kernels.algorithm import Algorithm, Limits, Place

from .arrays import Arrays
from .calls import Collectives
from .device import Machine
from .halos import HALOS
from .network import COPIED, NETWORKS, POINTER
from .one_sided import Exchanges, OneSided
from .solver import SOLVER

MAX_BLOCKS = 4
TABLES: dict[str, Mapping[str, Any]] = {
    "allreduce": allreduce.TABLE,
    "allreduce planned": allreduce.PLANNED,
    "all_gather": all_gather.TABLE,
    "reduce_scatter": reduce_scatter.TABLE,
    "broadcast": broadcast.TABLE,
    "reduce": reduce.TABLE,
    "all_to_all": all_to_all.TABLE,
    "all_gatherv": all_gatherv.TABLE,
    "reduce_scatterv": reduce_scatterv.TABLE,
    "all_to_allv": all_to_allv.TABLE,
    "exchange": exchange.TABLE,
    "one_sided": {name: name for name in ("put", "get", "put_signal")},
    "halo": HALOS,
    "solver": SOLVER,
}
PROGRAMS = ("halo", "solver")  # whose rows are whole programs
MAKERS = {"exchange": Exchanges, "one_sided": OneSided}  # of all else, Collectives
ROWS = [(table, name) for table, rows in TABLES.items() for name in rows]
SYMMETRIC, PLAIN = "symmetric", "plain"  # whether users' arrays are symmetric, or not all of them


@dataclass(frozen=True)
class Case:
    """What a run is about: rows of a network, with arrays of a kind."""

    rows: tuple[tuple[str, str], ...]
    network: str
    arrays: str

    def __str__(self) -> str:
        rows = ", ".join(f"{table}/{name}" for table, name in self.rows) if len(self.rows) < 4 else "all rows"
        return f"{rows} on {self.network}, {self.arrays} arrays"


def place_for(rng: Random, network: str) -> Place:
    """2 to 5 PEs, sometimes more, on one node or several."""
    n_pes = rng.choice((2, 2, 3, 3, 4, 4, 5, 6, 8))
    shape = rng.choice(("one", "all", "pairs"))
    node_of = {"one": [0] * n_pes, "all": list(range(n_pes)), "pairs": [pe // 2 for pe in range(n_pes)]}[shape]
    return place_of(node_of, network)


def place_of(node_of: Sequence[int], network: str) -> Place:
    """What rows may know of a network: whether packets arrive whole, and whether there is a switch that adds up."""
    whole = network in (POINTER, COPIED)
    return Place(tuple(node_of), ll128_safe=whole, multicast=network == POINTER, stores=whole)


def runs_on(row: Any, place: Place) -> bool:
    """Whether a row runs there for some dtype."""
    if not isinstance(row, Algorithm):
        return True
    return any(not row.refuse(place, dtype, "sum") for dtype in ("int64", "float32", "int8"))


def can_run(table: str, name: str, network: str) -> bool:
    """Whether a row ever runs on a network."""
    places = [place_of(node_of, network) for node_of in ((0, 0, 0, 0), (0, 0, 1, 1))]
    return any(runs_on(TABLES[table][name], place) for place in places)


def all_cases() -> list[Case]:
    """One for each row, network and kind of arrays: NVSHMEM asks for symmetric ones, or stages, and plans want them."""
    found = []
    for row in ROWS:
        for network in NETWORKS:
            kinds = [SYMMETRIC, PLAIN]
            if "planned" in row[0] or row[0] in PROGRAMS:
                kinds = [SYMMETRIC]
            elif network in (POINTER, COPIED):
                kinds = [PLAIN]
            found += [Case((row,), network, kind) for kind in kinds if can_run(*row, network)]
    return found


def mixtures(cases: Sequence[Case]) -> list[Case]:
    """All rows of these cases that share a network and a kind of arrays, in one program; PROGRAMS have their own."""
    rows: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for case in cases:
        if case.rows[0][0] not in PROGRAMS:
            rows.setdefault((case.network, case.arrays), []).append(case.rows[0])
    return [Case(tuple(several), *kind) for kind, several in rows.items() if len(several) > 1]


def key(case: Case) -> tuple[str, str, str, str]:
    """A case of one row as ``known.py`` names it."""
    return (*case.rows[0], case.network, case.arrays)


def run(
    case: Case,
    seed: str,
    calls: int = 6,
    rows: Mapping[str, Any] | None = None,
    gives_up: bool = False,
    quiet: bool = True,
) -> None:
    """One machine, one program.  Raises Fault.

    rows: algorithms to run in place of those of the tables
    gives_up: some wait ends before its time, and what PEs return after that must still be right, or nothing
    quiet: a wait that gives up ends when what its PE has sent is there
    """
    rng = Random(seed)
    found: list[tuple[str, Any]] = []
    while not found:  # some rows need several nodes
        place = place_for(rng, case.network)
        all_rows = [(table, (rows or {}).get(name) or TABLES[table][name]) for table, name in case.rows]
        found = [(table, row) for table, row in all_rows if runs_on(row, place)]
    machine = Machine(case.network, place, rng)
    limits = Limits(rng.choice((1, 2, MAX_BLOCKS)), 8192 if place.n_pes <= 5 else 16384)
    arrays = Arrays(machine, case.arrays == PLAIN)
    if gives_up:
        machine.patience.draw(rng)
        machine.patience.quiet = quiet
    try:
        with np.errstate(all="ignore"):
            if found[0][0] in PROGRAMS:
                right = found[0][1](machine, rng)
            else:
                program(machine, arrays, limits, found, calls, rng)
                right = [arrays.must_all_be_scribbled]
            machine.run()
            for check in right:
                check()
    except Exception as error:
        error.add_note(f"{case}; {place.n_pes} PEs on nodes {machine.network.node_of}; seed {seed!r}")
        raise


def program(
    machine: Machine, arrays: Arrays, limits: Limits, rows: list[tuple[str, Any]], calls: int, rng: Random
) -> None:
    """Random calls in the streams of all PEs."""
    makers: dict[str, Any] = {}
    for number in range(calls):
        table, row = rng.choice(rows)
        kind = MAKERS.get(table)
        if kind is None:
            maker = makers.get("") or makers.setdefault("", Collectives(machine, arrays, limits))
            streams = maker.call(table, row, rng, number)
        else:
            maker = makers.get(table) or makers.setdefault(table, kind(machine, arrays, limits.max_blocks))
            streams = maker.call(row, rng, number)
        for pe, stream in zip(machine.pes, streams, strict=True):
            pe.issue(stream)
