"""The result of ``team.explain``."""

from collections.abc import Mapping
from dataclasses import dataclass

from ..kernels.algorithm import Plan
from ..units import counted


@dataclass(frozen=True)
class Explanation:
    """The algorithm that an AllReduce will run, and why.  ``str(explanation)`` is a report of several lines.

    nbytes, dtype, op: size, dtype and op of the call;  where: number of PEs and their device
    algorithm, why:    name of the algorithm that will run, and the reason
    plan:        blocks (at most one on each multiprocessor of a GPU), elements of a message, and threads of a block
                 (0: the backend's default)
    piece_bytes: size of a message
    measured, modelled: {algorithm: us of a call}, from the tuned table and by the cost model
    refused:     {algorithm: reason why it cannot run here}
    """

    nbytes: int
    dtype: str
    op: str
    where: str
    algorithm: str
    why: str
    plan: Plan
    piece_bytes: int
    measured: Mapping[str, float]
    modelled: Mapping[str, float]
    refused: Mapping[str, str]

    def __str__(self) -> str:
        plan = self.plan
        threads = f" of {plan.threads} threads" if plan.threads else ""
        lines = [
            f"allreduce of {self.nbytes} bytes, {self.dtype} {self.op}, {self.where}: {self.algorithm}, {self.why}",
            f"  {counted(plan.blocks, 'block')}{threads}, pieces of {self.piece_bytes} bytes",
        ]
        best = {**self.modelled, **self.measured}
        for name in sorted(best, key=lambda name: best[name]):
            sources = ((self.measured, "measured"), (self.modelled, "by the model"))
            lines.append(f"  {name:20s} {', '.join(f'{us[name]:.4g} us {how}' for us, how in sources if name in us)}")
        return "\n".join([*lines, *(f"  {name:20s} can't run: {why}" for name, why in self.refused.items())])
