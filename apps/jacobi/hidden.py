"""The share of the exchange that the sweep hides: both are timed alone and together, before the solve."""

import time
from collections.abc import Callable
from typing import Any

from mpi4py import MPI

from .loop_kernels import NO_LOOP
from .loop_words import SWEEPS
from .solver import SweepBySweep

LIMIT_S, MOST_REPEATS = 0.03, 100  # the most seconds and turns of a measurement
STEPS = {"cuda": SWEEPS, "host": 2}  # steps of a turn: an even number, so that each turn begins with the same field


def line(solver: SweepBySweep) -> str:
    """The line of the report.  Changes the field.  Collective."""
    assert solver.exchange
    sweep = _sweep_us(solver, lambda stream: solver.launch(stream, NO_LOOP))
    exchange = _sweep_us(solver, solver.exchange)
    together = _sweep_us(solver, lambda stream: solver.sweep(stream, NO_LOOP))
    hidden = min(max((sweep + exchange - together) / exchange, 0), 1)
    times = f"A sweep alone takes {sweep:.1f} us, an exchange alone {exchange:.1f} us"
    return f"{times}, both together {together:.1f} us: {100 * hidden:.0f} % of the exchange is hidden"


def _sweep_us(solver: SweepBySweep, step: Callable[[Any], None]) -> float:
    """Microseconds of a step, on the slowest PE."""
    steps = STEPS[solver.team.backend]

    def turn(stream: Any) -> None:
        for _ in range(steps):
            step(stream)
            solver.fields.advance()

    once = solver.repeated(turn, 1)
    _seconds(solver, once)  # the first run compiles
    n = max(1, min(MOST_REPEATS, int(LIMIT_S / _seconds(solver, once))))
    return 1e6 * _seconds(solver, solver.repeated(turn, n)) / (steps * n)


def _seconds(solver: SweepBySweep, run: Callable[[Any], None]) -> float:
    comm = solver.team.comm
    comm.Barrier()
    start = time.perf_counter()
    run(solver.stream)
    solver.finish()
    return float(comm.allreduce(time.perf_counter() - start, op=MPI.MAX))
