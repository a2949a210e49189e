"""A row of the table of variants."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..fields import shape
from ..problem import Problem
from .steps import Steps


@dataclass(frozen=True)
class Row:
    """name and sentence: for people;  make: (team, problem) -> the variant's steps, collective

    needs: "" or what it can't do without, for people
    refuse: (team, problem) -> why it can't run there, or ""
    """

    name: str
    sentence: str
    make: type[Steps]
    needs: str = ""
    refuse: Callable[[Any, Problem], str] = lambda team, problem: ""

    def symmetric_bytes(self, problem: Problem, n_pes: int) -> int:
        """Symmetric memory that a PE needs for its fields."""
        rows, columns = shape(problem, n_pes, self.make.depth)
        return self.make.n_fields * rows * columns * problem.item_bytes
