"""``--verify NAME``: what is known without trusting the solver.  One oracle a file, one row each here."""

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
