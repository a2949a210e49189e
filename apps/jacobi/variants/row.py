"""A row of the table of variants.

Read first: steps.py.
"""

from dataclasses import dataclass
from typing import Any

from ...program.device import free_bytes
from ..grid.fields import shape
from ..grid.problem import Problem
from ..norm import exact_sum
from .steps import Steps


@dataclass(frozen=True)
class Row:
    """One variant.

    name:     what --variant takes;  sentence: what --help says
    make:     class of the variant: (team, problem, **settings) -> its steps.  Collective
    needs:    what the variant cannot run without, for --help; "" if it runs everywhere
    takes:    names of the settings that ``make`` takes
    """

    name: str
    sentence: str
    make: type[Steps]
    needs: str = ""
    takes: tuple[str, ...] = ()

    def refuse(self, team: Any, problem: Problem) -> str:
        """Why the variant cannot solve this problem on this team; "" if it can."""
        need, free = self.private_bytes(problem, team.n_pes), free_bytes(team)
        if need > free:
            return f"it takes {need} bytes beside the symmetric heap, and {free} are free: use a smaller --nx or --ny"
        return exact_sum.refuse(problem) or self.make.refuse(team, problem)

    def symmetric_bytes(self, problem: Problem, n_pes: int) -> int:
        """Bytes of symmetric memory that the fields take on each PE."""
        return self.make.n_fields * self._bytes_of_one(problem, n_pes)

    def private_bytes(self, problem: Problem, n_pes: int) -> int:
        """Bytes of other memory that a PE's fields take."""
        return self.make.private_fields * self._bytes_of_one(problem, n_pes)

    def _bytes_of_one(self, problem: Problem, n_pes: int) -> int:
        rows, columns = shape(problem, n_pes, self.make.depth)
        return rows * columns * problem.item_bytes
