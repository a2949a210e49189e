"""This library as an implementation: its public calls."""

from importlib import import_module
from typing import Any

from ..arrays.dtypes import DType
from ..kernels.algorithm import Algorithm
from ..team import Team
from .cases import Case, partner
from .implementation import Call, Implementation, Memory


def algorithms(case: str, planned: bool = False) -> dict[str, Algorithm]:
    """{name: algorithm} of a collective; {} if it has no table.

    planned: True for the algorithms of plans on symmetric arrays, too, which write the peers' arrays
    """
    try:
        module = import_module(f"..kernels.{case}", __package__)
    except ImportError:
        return {}
    table = getattr(module, "TABLE", {}) | (getattr(module, "PLANNED", {}) if planned else {})
    return {name: row for name, row in table.items() if isinstance(row, Algorithm)}  # an exchange has forms instead


class ThisLibrary(Implementation):
    """This library with an algorithm; see ``Implementation``.

    algorithm: a name, or "auto" for the library's own choice
    planned:   whether a persistent plan of the arrays is measured
    options:   other arguments of its calls, such as sms
    """

    def __init__(self, team: Team, memory: Memory, algorithm: str = "auto", planned: bool = False, **options: Any):
        from .. import __version__

        self.name = "pennympi" if algorithm == "auto" else algorithm
        self.version, self.memory, self.on_device = __version__, memory, team.backend == "cuda"
        self._team, self._planned = team, planned
        self._options = options if algorithm == "auto" else options | {"algorithm": algorithm}

    def why_not(self, case: Case, dtype: DType, op: str) -> str:
        if "algorithm" not in self._options:
            return ""
        return (
            algorithms(case.name, planned=True)[self.name].why_not(self._team.pe_topology, dtype.name, op or "sum") or ""
        )

    def has(self, case: Case, in_place: bool) -> bool:
        return in_place or case.name != "broadcast"

    def call(self, case: Case, source: Any, target: Any, op: str, root: int) -> Call:
        team: Any = self._team
        run, me, n_pes = getattr(team, case.name), team.me, team.n_pes
        if case.name in ("exchange", "put"):
            peer = partner(me, n_pes) if case.name == "exchange" else (me + 1) % n_pes
            return lambda stream: run(target, source, peer, stream=stream)
        named = self._options | ({"op": op} if case.reduces else {}) | ({"root": root} if case.rooted else {})
        args: tuple[Any, ...] = (source,) if case.name == "broadcast" else (source, None if target is source else target)
        if case.counts:
            sent, received = case.counts(me, n_pes, source.size // n_pes)
            args = {
                "all_gatherv": (source[: sent[0]], target, received),
                "reduce_scatterv": (source[: sum(sent)], target[: received[0]], sent),
                "all_to_allv": (source, target, sent, received),
            }[case.name]
        if self._planned:
            plan: Call = getattr(team, f"plan_{case.name}")(*args, **named)
            return plan
        return lambda stream: run(*args, **named, stream=stream)
