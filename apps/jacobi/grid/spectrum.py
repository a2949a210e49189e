"""The eigenvalues of a sweep in closed form, and Chebyshev's weights, which follow from them.

A sweep multiplies the mode sin(p pi x / (nx-1)) cos(2 pi q y / (ny-2)) of the error, 0 < p < nx-1, by its factor
(cos(p pi / (nx-1)) + cos(2 pi q / (ny-2))) / 2.

Chebyshev's semi-iteration takes a step from the field before the last one,

    u[k+1] = u[k-1] + weight[k] * (sweep(u[k]) - u[k-1]),

and makes the error after k sweeps as small as a polynomial of degree k in the sweep can make it.  On N x N points it
needs about sqrt(2) N / pi * ln(2 / eps) sweeps, where Jacobi needs 4 (N / pi)**2 * ln(1 / eps) (G. H. Golub and
R. S. Varga, Numerische Mathematik 3, 1961, 147-168).

Factors close to 1 are stored as 1 - factor ("short"): rounding of the factor itself would be multiplied by the square of
the number of sweeps.
"""

import math

from .problem import Problem

METHODS = ("jacobi", "chebyshev")


def short_factor(problem: Problem, p: int, q: int) -> float:
    """1 - factor of mode (p, q)."""
    return math.sin(p * math.pi / (problem.nx - 1) / 2.0) ** 2 + math.sin(math.pi * q / (problem.ny - 2)) ** 2


def short_bound(problem: Problem) -> float:
    """1 - the largest magnitude of a factor among the modes that the boundary excites.

    nvidia:   its sine does not fit the ring, so it excites all waves, of which q = 0 decays most slowly
    periodic: its sine is the wave q = 1 alone, so a square grid takes 2.2 times fewer sweeps
    """
    along_y = math.pi / (problem.ny - 2) if problem.bc == "periodic" else 0.0
    return math.sin(math.pi / (problem.nx - 1) / 2.0) ** 2 + min(math.sin(along_y) ** 2, math.cos(along_y) ** 2)


def weight(problem: Problem, sweep: int) -> float:
    """The weight of sweep number 0, 1, ...: 1 for Jacobi, 2 x T_k(x) / T_k+1(x) with x = 1 / bound for Chebyshev.

    The usual recurrence would accumulate rounding errors, and a restart would have to repeat it from the first sweep on.
    """
    if problem.method == "jacobi" or sweep == 0:
        return 1.0
    short = short_bound(problem)
    rate = 2.0 * math.asinh(math.sqrt(short / (1.0 - short) / 2.0))  # arcosh(x)
    ratio = math.exp(-rate) * (1.0 + math.exp(-2.0 * sweep * rate)) / (1.0 + math.exp(-2.0 * (sweep + 1) * rate))
    return 2.0 / (1.0 - short) * ratio


def decay(problem: Problem, sweeps: int, p: int, q: int) -> float:
    """The number by which n sweeps multiply mode (p, q).

    It is factor**n for Jacobi, and T_n(factor / bound) / T_n(1 / bound) for Chebyshev.
    """
    missing = short_factor(problem, p, q)
    if problem.method == "jacobi":
        return math.exp(sweeps * math.log1p(-missing)) if missing < 1.0 else (1.0 - missing) ** sweeps
    short = short_bound(problem)
    sign, angle, growth = _chebyshev(sweeps, (missing - short) / (1.0 - short))
    _, _, below = _chebyshev(sweeps, -short / (1.0 - short))
    return (
        sign
        * math.cos(angle)
        * math.exp(growth - below)
        * (1.0 + math.exp(-2.0 * growth))
        / (1.0 + math.exp(-2.0 * below))
    )


def _chebyshev(n: int, y: float) -> tuple[float, float, float]:
    """(sign, a, g) such that T_n(1 - y) = sign * cos(a) * cosh(g)."""
    if 0.0 <= y <= 2.0:
        return 1.0, 2.0 * n * math.asin(math.sqrt(y / 2.0)), 0.0
    beyond = -y if y < 0.0 else y - 2.0
    return (-1.0) ** n if y > 2.0 else 1.0, 0.0, 2.0 * n * math.asinh(math.sqrt(beyond / 2.0))


def sweeps_to(reduction: float, problem: Problem) -> float:
    """About how many sweeps multiply the slowest mode by ``reduction``, which is below 1."""
    short = short_bound(problem)
    if problem.method == "jacobi":
        return math.log(reduction) / math.log1p(-short)
    return math.log(reduction / 2.0) / (-2.0 * math.asinh(math.sqrt(short / (1.0 - short) / 2.0)))
