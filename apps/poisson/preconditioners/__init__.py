"""What stands for the inverse of the operator: z = M r, with a symmetric M."""

from typing import Any

from ..problem import Problem
from .chebyshev import Chebyshev
from .multigrid import Multigrid
from .pointwise import Pointwise

TABLE: dict[str, Any] = {"none": Pointwise, "jacobi": Pointwise, "chebyshev": Chebyshev, "multigrid": Multigrid}


def refuse(problem: Problem) -> str:
    """Why the problem's preconditioner can't be used for it; "" if it can."""
    return str(TABLE[problem.preconditioner].refuse(problem))
