"""The report of a run: the lines of NVIDIA's sample, so that runs can be compared, and lines of our own."""

import platform
from dataclasses import asdict, dataclass
from typing import Any

from ...program.outcome import Outcome
from ..grid.problem import Problem
from ..timing.phases import mean, overlap_percent, overlap_text
from ..timing.serial import SerialTime

CSV_NAME = "pennympi"
ACCESSES = {"jacobi": 2, "chebyshev": 3}  # to memory, for each point and sweep: one or two reads, and a write
ENDINGS = {
    "converged": "the norm is at most --tol",
    "iterations": "all that were asked for",
    "diverged": "DIVERGED: the field holds values that are not finite or far too large",
    "interrupted": "INTERRUPTED by a signal",
}


@dataclass(frozen=True)
class Timing:
    """Measured times and rates of one run.

    sweeps:  number of sweeps in runtime_s, without those before a restart
    serial:  the time of one PE by the same kind of variant; None if it does not fit there or was not timed
    fastest: the time of one PE by the fastest variant; None as well
    phases:  for each PE, where the time of a sweep goes, in us; see ``phases.py``
    """

    runtime_s: float
    sweeps: int
    serial: SerialTime | None
    fastest: SerialTime | None
    copy_bytes_per_s: float
    exchange_s: float
    phases: list[dict[str, float]]


def accesses(problem: Problem) -> int:
    """How many times a sweep must read or write each point."""
    return ACCESSES[problem.method]


def size_text(n_bytes: int) -> str:
    """A number of bytes with a unit."""
    for unit, name in ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB")):
        if n_bytes >= unit:
            return f"{n_bytes / unit:.2f} {name}"
    return f"{n_bytes / 1024:.2f} KiB"


def single_header(problem: Problem, sweeps: int) -> str:
    """The first line of NVIDIA's sample."""
    return f"Single GPU jacobi relaxation: {_mesh(problem, sweeps)}"


def header(problem: Problem) -> str:
    """The line that NVIDIA's sample prints before the norms of the run on all PEs."""
    return f"Jacobi relaxation: {_mesh(problem, problem.niter)}"


def _mesh(problem: Problem, sweeps: int) -> str:
    return f"{sweeps} iterations on {problem.ny} x {problem.nx} mesh with norm check every {problem.nccheck} iterations"


def alone_s(timing: Timing, alone: SerialTime | None) -> float:
    """Seconds that one PE takes for the sweeps of this run, which may have converged early; 0 if that is not known."""
    return alone.runtime_s / alone.of * timing.sweeps if alone else 0.0


def speedup(n_pes: int, timing: Timing, alone: SerialTime | None) -> tuple[float, float]:
    """(speedup, efficiency in per cent) against a run on one PE; zeros if its time is not known."""
    ratio = alone_s(timing, alone) / timing.runtime_s
    return ratio, ratio / n_pes * 100


def nvidia_lines(problem: Problem, n_pes: int, timing: Timing) -> list[str]:
    """The last two lines of NVIDIA's sample."""
    serial_s = alone_s(timing, timing.serial)
    ratio, efficiency = speedup(n_pes, timing, timing.serial)
    return [
        f"Num GPUs: {n_pes}.",
        f"{problem.ny}x{problem.nx}: 1 GPU: {serial_s:8.4f} s, {n_pes} GPUs: {timing.runtime_s:8.4f} s, "
        f"speedup: {ratio:8.2f}, efficiency: {efficiency:8.2f}",
    ]


def csv_line(problem: Problem, n_pes: int, timing: Timing) -> str:
    """NVIDIA's csv line: type, nx, ny, iter_max, nccheck, num_devices, p2p, runtime, runtime_serial."""
    serial_s = alone_s(timing, timing.serial)
    return (
        f"{CSV_NAME}, {problem.nx}, {problem.ny}, {problem.niter}, {problem.nccheck}, {n_pes}, 1, "
        f"{timing.runtime_s:.6f}, {serial_s:.6f}"
    )


def rates(problem: Problem, timing: Timing) -> dict[str, Any]:
    """Rates and shares that follow from the times."""
    per_iteration_s = timing.runtime_s / max(timing.sweeps, 1)
    bandwidth = accesses(problem) * problem.field_bytes / per_iteration_s
    return {
        "glups": problem.nx * problem.ny / per_iteration_s / 1e9,
        "iteration_us": per_iteration_s * 1e6,
        "effective_bandwidth_GBps": bandwidth / 1e9,
        "copy_bandwidth_GBps": timing.copy_bytes_per_s / 1e9,
        "share_of_copy": bandwidth / timing.copy_bytes_per_s,
        "exchange_us": timing.exchange_s * 1e6,
        "exchange_share": timing.exchange_s / per_iteration_s,
        "overlap_percent": overlap_percent(mean(timing.phases)),
    }


def _alone_lines(n_pes: int, timing: Timing) -> list[str]:
    """Lines on one PE by the same kind of variant, and by the fastest variant if that is another one."""
    if timing.serial is None or timing.fastest is None:
        return ["One PE alone: not timed"]
    lines = []
    for name, alone in (("One PE alone", timing.serial), ("Our fastest on one PE", timing.fastest)):
        ratio, efficiency = speedup(n_pes, timing, alone)
        scaled = "" if alone.measured == timing.sweeps else f" (from {alone.measured} sweeps)"
        seconds = f"{name}, {alone.variant}: {alone_s(timing, alone):.4f} s{scaled}"
        lines.append(f"{seconds}; speedup {ratio:.2f}, efficiency {efficiency:.1f} %")
    return lines if timing.fastest is not timing.serial else lines[:1]


def our_lines(problem: Problem, n_pes: int, outcome: Outcome, timing: Timing) -> list[str]:
    """The lines of our own."""
    rate = rates(problem, timing)
    norm = f", norm {outcome.history[-1][1]:.6e}" if outcome.history else ""
    moved = "field read and written once" if problem.method == "jacobi" else "two fields read, one written"
    return [
        f"Stopped after {outcome.iterations} iterations ({ENDINGS[outcome.reason]}){norm}",
        f"{n_pes} PE{'s' if n_pes > 1 else ''}: {timing.runtime_s:.4f} s, {rate['iteration_us']:.1f} us an iteration, "
        f"{rate['glups']:.3f} GLUP/s",
        *_alone_lines(n_pes, timing),
        f"Effective bandwidth ({moved}): {rate['effective_bandwidth_GBps']:.1f} GB/s, "
        f"{100 * rate['share_of_copy']:.0f} % of a copy measured now ({rate['copy_bandwidth_GBps']:.1f} GB/s)",
        f"Halo exchange alone: {rate['exchange_us']:.1f} us, {100 * rate['exchange_share']:.1f} % of an iteration "
        f"if nothing hid it; {overlap_text(mean(timing.phases))}",
    ]


def full(problem: Problem, n_pes: int, outcome: Outcome, timing: Timing) -> list[str]:
    """NVIDIA's lines, then our own."""
    return nvidia_lines(problem, n_pes, timing) + our_lines(problem, n_pes, outcome, timing)


def environment(team: Any) -> dict[str, Any]:
    """Devices and versions of the run."""
    from importlib.metadata import version

    import numpy
    from mpi4py import MPI

    return {
        "backend": team.backend,
        "device": team.device_name,
        "n_pes": team.n_pes,
        "host": platform.node(),
        "python": platform.python_version(),
        "numpy": numpy.__version__,
        "numba": version("numba"),
        "mpi": MPI.Get_library_version().splitlines()[0].strip().rstrip("\0"),
    }


def as_dict(
    problem: Problem, variant: str, team: Any, outcome: Outcome, timing: Timing, verification: Any
) -> dict[str, Any]:
    """The contents of the --json file."""
    ratio, efficiency = speedup(team.n_pes, timing, timing.serial)
    return {
        "problem": asdict(problem),
        "variant": variant,
        "environment": environment(team),
        "iterations": outcome.iterations,
        "reason": outcome.reason,
        "history": outcome.history,
        "runtime_s": timing.runtime_s,
        "sweeps_timed": timing.sweeps,
        "serial": asdict(timing.serial) if timing.serial else None,
        "speedup": ratio,
        "efficiency_percent": efficiency,
        "serial_runtime_s": alone_s(timing, timing.serial),
        "fastest_serial": {"variant": timing.fastest.variant, "runtime_s": alone_s(timing, timing.fastest)}
        if timing.fastest
        else None,
        "efficiency_of_fastest_percent": speedup(team.n_pes, timing, timing.fastest)[1],
        **rates(problem, timing),
        "phases": timing.phases,
        "verification": verification,
    }
