"""This library as an implementation: its public calls."""

from typing import Any

from ..arrays.dtypes import DType
from ..kernels.algorithm import Algorithm
from ..team import Team
from .cases import Case, partner
from .implementation import Call
from .memory import Memory


class Ours:
    """This library with one algorithm; see ``Implementation``.

    algorithm: a name, "auto" for the library's own choice, or a row with another plan
    planned:   measure a persistent plan of the arrays, if the collective has plans
    options:   what else its calls are told by name, such as sms
    """

    on_device = True

    def __init__(
        self,
        team: Team,
        memory: Memory,
        algorithm: str | Algorithm = "auto",
        name: str = "pennympi",
        planned: bool = False,
        **options: Any,
    ):
        from .. import __version__

        self.name, self.version, self.memory, self.algorithm = name, __version__, memory, algorithm
        self._team, self._planned, self._options = team, planned, options
        self.on_device = team.backend == "cuda"

    def refuse(self, case: Case, dtype: DType, op: str) -> str:
        if not hasattr(self._team, case.name):
            return f"this version of the library has no team.{case.name}"
        return ""

    def has(self, case: Case, in_place: bool) -> bool:
        return in_place or case.name != "broadcast"

    def call(self, case: Case, source: Any, target: Any, op: str, root: int) -> Call:
        team: Any = self._team
        run = getattr(team, case.name)
        if case.name == "exchange":
            other = partner(team.me, team.n_pes)
            return lambda stream: run(target, source, other, stream=stream)
        if case.name == "put":
            after = (team.me + 1) % team.n_pes
            return lambda stream: run(target, source, after, stream=stream)
        named: dict[str, Any] = self._options | ({"algorithm": self.algorithm} if self.algorithm != "auto" else {})
        if case.reduces:
            named["op"] = op
        if case.rooted:
            named["root"] = root
        args: tuple[Any, ...] = (source,) if case.name == "broadcast" else (source, None if target is source else target)
        if case.counts:
            sent, taken = case.counts(team.me, team.n_pes, source.size // team.n_pes)
            args = {
                "all_gatherv": (source[: sent[0]], target, taken),
                "reduce_scatterv": (source[: sum(sent)], target[: taken[0]], sent),
                "all_to_allv": (source, target, sent, taken),
            }[case.name]
        if self._planned and hasattr(team, f"plan_{case.name}"):
            plan: Call = getattr(team, f"plan_{case.name}")(*args, **named)
            return plan
        return lambda stream: run(*args, **named, stream=stream)
