"""z = weight * r: no preconditioner, and Jacobi's, whose diagonal is the same number at each point."""

from typing import Any

from ..problem import Problem
from ..records import RR


class Pointwise:
    """The kernels multiply by ``weight`` as they read r, so that z is no field.

    of_field: the field that the directions are made of;  rz: the sum that r * z is found in, up to the weight
    """

    of_field, rz, own_field = "r", RR, False

    def __init__(self, steps: Any, problem: Problem):
        self.weight = 1.0 / problem.diagonal if problem.preconditioner == "jacobi" else 1.0

    @classmethod
    def refuse(cls, problem: Problem) -> str:
        """Why it can't be used; "" if it can."""
        return ""

    def apply(self) -> None:
        """Enqueue z = M r."""

    def free(self) -> None:
        """Free its memory.  Collective."""
