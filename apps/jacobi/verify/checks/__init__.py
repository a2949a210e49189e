"""``--verify NAME``: comparisons of a result with what is known without the solver.  Each file holds one."""

from .analytic import Analytic
from .check import Check, Verdict
from .eigenmode import Eigenmode
from .residual import Residual
from .serial import SerialSolve

TABLE: dict[str, type[Check]] = {
    "serial": SerialSolve,
    "eigenmode": Eigenmode,
    "analytic": Analytic,
    "residual": Residual,
}

__all__ = ["TABLE", "Check", "Verdict"]
