"""A row of the table of variants."""

from dataclasses import dataclass
from typing import Any

from ..grid.fields import shape
from ..grid.problem import Problem
from ..norm import exact_sum
from .steps import Steps


@dataclass(frozen=True)
class Row:
    """name and sentence: for people;  make: (team, problem, settings) -> the variant's steps, collective

    needs: "" or what it can't do without, for people
    takes: names of its own settings, keyword arguments of ``make``
    """

    name: str
    sentence: str
    make: type[Steps]
    needs: str = ""
    takes: tuple[str, ...] = ()

    def refuse(self, team: Any, problem: Problem) -> str:
        """Why it can't run there, or ""."""
        return exact_sum.refuse(problem) or self.make.refuse(team, problem)

    def symmetric_bytes(self, problem: Problem, n_pes: int) -> int:
        """Symmetric memory that a PE needs for its fields."""
        rows, columns = shape(problem, n_pes, self.make.depth)
        return self.make.n_fields * rows * columns * problem.item_bytes
