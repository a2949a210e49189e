"""Runs of many calls: which PEs, which network, which rows, all from one seed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

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
from pennympi.kernels.algorithm import Algorithm, Topology

from .calls import collective
from .halos import HALOS
from .network import COPIED, NETWORKS, POINTER
from .one_sided import Exchanges, OneSided
from .sweeps import SWEEPS
from .team import Team, topology_of

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
    "sweeps": SWEEPS,
}
PROGRAMS = ("halo", "sweeps")  # whose rows are whole programs
MAKERS = {"exchange": Exchanges, "one_sided": OneSided}  # of all else, ``collective``
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


def runs_on(row: Any, topology: Topology) -> bool:
    """Whether a row runs there for some dtype."""
    if not isinstance(row, Algorithm):
        return True
    return any(not row.why_not(topology, dtype, "sum") for dtype in ("int64", "float32", "int8"))


def can_run(table: str, name: str, network: str) -> bool:
    """Whether a row ever runs on a network."""
    places = [topology_of(node_of, network) for node_of in ((0, 0, 0, 0), (0, 0, 1, 1))]
    return any(runs_on(TABLES[table][name], topology) for topology in places)


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
    tried = [(table, (rows or {}).get(name) or TABLES[table][name]) for table, name in case.rows]
    team = Team(case.network, rng, lambda topology: any(runs_on(row, topology) for _, row in tried), case.arrays == PLAIN)
    found = [(table, row) for table, row in tried if runs_on(row, team.topology)]
    if gives_up:
        team.machine.patience.draw(rng)
        team.machine.patience.quiet = quiet
    with team.noted(f"{case}; seed {seed!r}"):
        if found[0][0] in PROGRAMS:
            right = found[0][1](team.machine, rng)
        else:
            right = [team.arrays.must_all_be_scribbled]
            program(team, found, calls)
        team.machine.run()
        for check in right:
            check()


def program(team: Team, rows: list[tuple[str, Any]], calls: int) -> None:
    """Random calls in the streams of all PEs."""
    makers: dict[str, Any] = {}
    for number in range(calls):
        table, row = team.rng.choice(rows)
        if table in MAKERS:
            maker = makers.get(table) or makers.setdefault(table, MAKERS[table](team))
            team.issue(maker.call(row, team.rng, number))
        else:
            team.issue(collective(team, table, row, number))
