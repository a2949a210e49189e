"""The measurements of one command: all sizes, dtypes and ops, each printed when it is done."""

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

from ..annotations import OpName
from ..arrays.dtypes import DType
from ..team import Team
from . import columns, sizes
from .cases import Case
from .implementation import Implementation
from .progress import Progress
from .result import Result
from .run import Options, Run
from .timing import host_cost_us


@dataclass(frozen=True)
class Session:
    """What is measured.  sizes: in bytes;  ops: [""] for a case without an op;  quiet: no progress line"""

    team: Team
    case: Case
    implementations: Sequence[Implementation]
    sizes: Sequence[int]
    dtypes: Sequence[DType]
    ops: Sequence[str]
    options: Options
    quiet: bool = False

    def run(self, result: Result, tell: Callable[[str], None]) -> None:
        """Fill ``result``, and on PE 0 ``tell`` a line for every implementation and size.  Collective."""
        team, speaks = self.team, self.team.me == 0
        seed = team.gather(secrets.randbits(48))[0]
        result.facts["seed"] = seed
        width = max(len(one.name) for one in self.implementations)
        progress = Progress(len(self.sizes) * len(self.dtypes) * len(self.ops), speaks and not self.quiet)
        if speaks:
            tell("\n".join([f"# {name}: {value}" for name, value in result.facts.items()] + columns.head(width)))
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
                    tell("\n".join(lines))
            if not result.host_us and team.backend == "cuda":
                result.host_us = self._host_costs(runner, able, op)
        progress.close()

    def _able(self, dtype: DType, op: str, result: Result) -> list[Implementation]:
        """The implementations that have the dtype and op; the others' reasons are added to ``result``."""
        reasons = {one.name: one.refuse(self.case, dtype, op) for one in self.implementations}
        result.refused |= {name: why for name, why in reasons.items() if why}
        return [one for one in self.implementations if not reasons[one.name]]

    def _host_costs(self, runner: Run, able: Sequence[Implementation], op: str) -> dict[str, float]:
        """{implementation: us of host time of one call that is not in a graph} at the smallest size.  Collective."""
        team, case, cost = self.team, self.case, {}
        stream = team.stream()
        block_elems = case.block_elems(self.sizes[0], runner.dtype.item_bytes, team.n_pes)
        for one in able if block_elems else ():
            if one.on_device:
                source, target = runner.buffers(one, block_elems, not one.has(case, False))
                cost[one.name] = host_cost_us(team, one.call(case, source, target, op, self.options.root), stream)
                if case.name == "allreduce" and one.name == columns.OURS:
                    cost[f"{one.name} plan"] = host_cost_us(
                        team, team.plan_allreduce(source, target, cast(OpName, op)), stream
                    )
        return cost
