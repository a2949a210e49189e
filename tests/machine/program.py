"""Runs of many calls: which PEs, which network, which algorithms, all from one seed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import collective_cases

from pennympi.kernels import allreduce, exchange
from pennympi.kernels.algorithm import Algorithm, Topology
from pennympi.simulator.network import COPIED, NETWORKS, POINTER

from .calls import collective
from .exchanges import Exchanges
from .halos import HALOS
from .sweeps import SWEEPS
from .team import Team, place_for, topology_of

TABLES: dict[str, Mapping[str, Any]] = collective_cases.TABLES | {
    "allreduce planned": allreduce.PLANNED,
    "exchange": exchange.TABLE,
    "halo": HALOS,
    "sweeps": SWEEPS,
}
PROGRAMS = ("halo", "sweeps")  # tables whose algorithms are whole programs
ALGORITHMS = [(table, name) for table, algorithms in TABLES.items() for name in algorithms]
SYMMETRIC, PLAIN = "symmetric", "plain"  # whether users' arrays are symmetric, or some are not


@dataclass(frozen=True)
class Case:
    """The subject of a run: algorithms on a network, with arrays of a kind."""

    algorithms: tuple[tuple[str, str], ...]
    network: str
    arrays: str

    def __str__(self) -> str:
        algorithms = (
            ", ".join(f"{table}/{name}" for table, name in self.algorithms)
            if len(self.algorithms) < 4
            else "all algorithms"
        )
        return f"{algorithms} on {self.network}, {self.arrays} arrays"


def runs_on(algorithm: Any, topology: Topology) -> bool:
    """Whether an algorithm runs on this topology for some dtype."""
    if not isinstance(algorithm, Algorithm):
        return True
    return any(not algorithm.why_not(topology, dtype, "sum") for dtype in ("int64", "float32", "int8"))


def can_run(table: str, name: str, network: str) -> bool:
    """Whether an algorithm runs on some topology of a network."""
    places = [topology_of(node_of, network) for node_of in ((0, 0, 0, 0), (0, 0, 1, 1))]
    return any(runs_on(TABLES[table][name], topology) for topology in places)


def all_cases() -> list[Case]:
    """A case for each algorithm, network and kind of arrays: NVSHMEM and plans need symmetric arrays."""
    found = []
    for algorithm in ALGORITHMS:
        for network in NETWORKS:
            kinds = [SYMMETRIC, PLAIN]
            if "planned" in algorithm[0] or algorithm[0] in PROGRAMS:
                kinds = [SYMMETRIC]
            elif network in (POINTER, COPIED):
                kinds = [PLAIN]
            found += [Case((algorithm,), network, kind) for kind in kinds if can_run(*algorithm, network)]
    return found


def mixtures(cases: Sequence[Case]) -> list[Case]:
    """Cases of all algorithms with the same network and kind of arrays, without PROGRAMS."""
    algorithms: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for case in cases:
        if case.algorithms[0][0] not in PROGRAMS:
            algorithms.setdefault((case.network, case.arrays), []).append(case.algorithms[0])
    return [Case(tuple(several), *kind) for kind, several in algorithms.items() if len(several) > 1]


def run(case: Case, seed: str, calls: int = 6, gives_up: bool = False, quiet: bool = True) -> None:
    """One program on one machine.  Raises Fault.

    gives_up: some wait ends before its time; PEs that return later must still return a right result, or none
    quiet: a wait that gives up ends after all messages that its PE has sent have arrived
    """
    rng = Random(seed)
    tried = [(table, TABLES[table][name]) for table, name in case.algorithms]
    topology = place_for(rng, case.network, lambda place: any(runs_on(algorithm, place) for _, algorithm in tried))
    team = Team(case.network, rng, topology, case.arrays == PLAIN)
    found = [(table, algorithm) for table, algorithm in tried if runs_on(algorithm, team.topology)]
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


def program(team: Team, algorithms: list[tuple[str, Any]], calls: int) -> None:
    """Random calls in the streams of all PEs."""
    exchanges = Exchanges(team) if any(table == "exchange" for table, _ in algorithms) else None
    for number in range(calls):
        table, algorithm = team.rng.choice(algorithms)
        if exchanges and table == "exchange":
            team.issue(exchanges.call(algorithm, team.rng, number))
        else:
            team.issue(collective(team, table, algorithm, number))
