"""One run of the command: sizes by dtypes by ops, printed as they come."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass

from ..arrays.dtypes import DType
from ..team import Team
from . import columns, sizes
from .cases import Case
from .contestant import Contestant
from .progress import Progress
from .rails import carried
from .result import Result
from .run import Options, Run
from .timing import host_cost_us


@dataclass(frozen=True)
class Session:
    """What is measured.  sizes: in bytes;  ops: [""] for a case that takes none"""

    team: Team
    case: Case
    contestants: Sequence[Contestant]
    sizes: Sequence[int]
    dtypes: Sequence[DType]
    ops: Sequence[str]
    options: Options
    quiet: bool = False

    def run(self, result: Result) -> None:
        """Fill ``result`` and print a line for every contestant and size on PE 0.  Collective."""
        team, speaks = self.team, self.team.me == 0
        seed = team.comm.bcast(secrets.randbits(48) if speaks else None)
        result.facts["seed"] = seed
        width = max(len(one.name) for one in self.contestants)
        progress = Progress(len(self.sizes) * len(self.dtypes) * len(self.ops), speaks and not self.quiet)
        if speaks:
            print("\n".join([f"# {name}: {value}" for name, value in result.facts.items()] + columns.head(width)))
        for dtype, op in ((dtype, op) for dtype in self.dtypes for op in self.ops):
            runner = Run(team, self.case, dtype, op, self.options, seed)
            able = self._able(dtype, op, result)
            for nbytes in self.sizes:
                progress.step(f"{sizes.show(nbytes)} {dtype.name} {op}")
                forms = [runner.measure(able, nbytes, in_place) for in_place in (False, True)]
                result.rows += [row for rows in forms for row in rows if row]
                progress.clear()
                lines = [columns.line(out, own, width) for out, own in zip(*forms, strict=True) if out or own]
                if speaks and lines:
                    print("\n".join(lines), flush=True)
            result.rails = result.rails or carried(team, runner, able, self.sizes[-1], self.case, self.options.root, op)
            if not result.host_us and team.backend == "cuda":
                result.host_us = self._host_costs(runner, able, op)

    def _able(self, dtype: DType, op: str, result: Result) -> list[Contestant]:
        """Those who know the dtype and op; the others' reasons go to ``result``."""
        reasons = {one.name: one.refuse(self.case, dtype, op) for one in self.contestants}
        result.refused |= {name: why for name, why in reasons.items() if why}
        return [one for one in self.contestants if not reasons[one.name]]

    def _host_costs(self, runner: Run, able: Sequence[Contestant], op: str) -> dict[str, float]:
        """{contestant: us of host time of one call launched by itself} at the smallest size.  Collective."""
        team, case, cost = self.team, self.case, {}
        stream = team.stream()
        block = case.block(self.sizes[0], runner.dtype.item_bytes, team.n_pes)
        for one in able if block else ():
            if one.on_device:
                source, target = runner.buffers(one, block, not one.has(case, False))
                cost[one.name] = host_cost_us(team, one.call(case, source, target, op, self.options.root), stream)
                if case.name == "allreduce" and one.name == columns.OURS:
                    cost[f"{one.name} plan"] = host_cost_us(team, team.plan_allreduce(source, target, op), stream)
        return cost
