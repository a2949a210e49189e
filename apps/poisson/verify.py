"""--verify: the answer against the solution that is known, and the residual computed anew."""

import math
from typing import Any

import numpy as np

from . import manufactured
from .problem import Problem

STAGNATION = 64.0  # a residual can't be smaller than this times eps, over the tolerance


def judge(solver: Any) -> tuple[bool, str]:
    """(passed, a line that says why).  Collective."""
    problem: Problem = solver.problem
    comm = solver.team.comm
    error = solver.u() - manufactured.solution(solver.grid, problem)
    if problem.singular:  # both are known up to a constant
        error = error - comm.allreduce(float(error.sum())) / problem.points
    rms = math.sqrt(comm.allreduce(float(np.square(error).sum())) / problem.points)
    residual = solver.residual()
    allowed = manufactured.allowed_error(problem, residual)
    least, most = problem.eigenvalues()
    noise = STAGNATION * float(np.finfo(problem.dtype).eps) * most / least
    good = rms <= allowed and residual <= 2.0 * problem.tol + noise
    line = (
        f"root mean square of the error {rms:.3e} ({allowed:.3e} allowed at this h); "
        f"residual computed anew {residual:.3e} ({problem.tol:g} wanted)"
    )
    return bool(good), line
