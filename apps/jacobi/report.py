"""The lines that a run prints: those of NVIDIA's sample, for comparison, and the end of the solve."""

from ..program.device import Processors
from ..program.outcome import Outcome
from .problem import Problem

CSV_NAME = "pennympi"
ENDINGS = {
    "converged": "the norm is at most --tol",
    "iterations": "--niter is reached",
    "diverged": "DIVERGED: the field holds values that are not finite or far too large",
}


def fixed(x: float, digits: int) -> str:
    """A number with ``digits`` digits after the point, or in powers of ten if fewer than three would be significant."""
    return f"{x:.{digits}e}" if 0 < abs(x) < 10 ** (2 - digits) else f"{x:.{digits}f}"


def header(problem: Problem, sweeps: int, what: str = "Jacobi") -> str:
    """The line that NVIDIA's sample prints before the norms."""
    mesh = f"{problem.ny} x {problem.nx} mesh with norm check every {problem.nccheck} iterations"
    return f"{what} relaxation: {sweeps} iterations on {mesh}"


def norm_line(iteration: int, norm: float) -> str:
    """A norm as NVIDIA's sample prints it."""
    return f"{iteration:5d}, {fixed(norm, 6)}"


def nvidia_lines(
    problem: Problem, n_pes: int, processors: Processors, runtime_s: float, serial_s: float, variants: tuple[str, str]
) -> list[str]:
    """The last two lines of NVIDIA's sample.

    serial_s: time of one PE for as many sweeps;  variants: names of the variants of one PE, and of the run
    One PE, and PEs that share cores or GPUs, have no speedup.
    """
    serial, parallel = (f"{name}: {fixed(s, 4)} s" for name, s in zip(variants, (serial_s, runtime_s), strict=True))
    times, gained, ratio = f"1 PE, {serial}, {counted(n_pes, 'PE')}, {parallel}", "", serial_s / runtime_s
    if 1 < n_pes <= processors.number:
        gained = f", speedup: {ratio:.2f}, efficiency: {100 * ratio / n_pes:.2f} %"
    head = f"{counted(n_pes, 'PE')} on {counted(processors.number, processors.kind)}."
    return [head, f"{problem.ny}x{problem.nx}: {times}{gained}"]


def counted(n: int, noun: str) -> str:
    """A number with a noun, such as "2 PEs"."""
    return f"{n} {noun}{'s' * (n != 1)}"


def csv_line(problem: Problem, n_pes: int, runtime_s: float, serial_s: float) -> str:
    """The csv line of NVIDIA's sample: type, nx, ny, iter_max, nccheck, num_devices, p2p, runtime, runtime_serial."""
    head = f"{CSV_NAME}, {problem.nx}, {problem.ny}, {problem.niter}, {problem.nccheck}"
    return f"{head}, {n_pes}, 1, {runtime_s:.6f}, {serial_s:.6f}"


def ending(problem: Problem, outcome: Outcome, runtime_s: float, sweeps: int) -> str:
    """The end of the solve, and its speed.  sweeps: number of sweeps in ``runtime_s``, without those before a restart"""
    norm = f", norm {outcome.parts[-1][1][-1]:.6e}" if outcome.parts else ""
    sweep_us = 1e6 * runtime_s / max(sweeps, 1)
    rate = f"{sweep_us:.2f} us an iteration, {problem.nx * problem.ny / sweep_us / 1e3:.4g} GLUP/s"
    return f"Stopped after {outcome.iterations} iterations ({ENDINGS[outcome.reason]}){norm}; {rate}"
