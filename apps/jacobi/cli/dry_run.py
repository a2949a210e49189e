"""--dry-run: the decomposition, memory and time of a solve, estimated without running it."""

import math
from dataclasses import replace
from itertools import groupby
from typing import Any

import numpy as np

from ...program.copy_rate import copy_rate
from ...program.device import array_module, free_bytes
from ..grid import spectrum
from ..grid.problem import Problem
from ..grid.slab import Slab, slabs
from ..report.report import accesses, size_text
from ..variants import row_of
from ..variants.memory import field_bytes, heap_bytes

COPY_BYTES = 256 << 20  # the largest array that is copied to measure the memory


def lines(team: Any, problem: Problem, n_pes: int, variant: str) -> list[str]:
    """The lines to print for a solve on n_pes PEs, which need not be the team's number.  Collective over the team."""
    rate = _copy_rate(team, problem, n_pes)
    if n_pes != team.n_pes and team.backend == "cuda":
        rate *= n_pes / team.n_pes  # each GPU has its own memory; PEs on a CPU share one
    sweep_s = accesses(problem) * problem.field_bytes / rate
    return [
        f"{problem.ny} x {problem.nx} of {problem.dtype}, {problem.bc} boundary, {problem.method} by variant "
        f"{row_of(problem, variant).name} on {_pes(n_pes)} ({team.backend}, {team.device_name})",
        *_decomposition(problem, n_pes),
        *_memory(team, problem, n_pes, variant),
        f"Copy measured now on {_pes(team.n_pes)}: {rate / 1e9:.1f} GB/s for {_pes(n_pes)}; a sweep moves "
        f"{accesses(problem) * problem.item_bytes} bytes a point",
        f"Estimated: {1e6 * sweep_s:.1f} us a sweep, {sweep_s * problem.niter:.3g} s for {problem.niter} sweeps, at the "
        "speed of the copy, one sweep a pass over memory, with the halo exchange and the norm hidden",
        *_convergence(problem, sweep_s),
    ]


def _pes(n: int) -> str:
    return f"{n} PE{'s' if n > 1 else ''}"


def _copy_rate(team: Any, problem: Problem, n_pes: int) -> float:
    most = COPY_BYTES // problem.item_bytes
    source = array_module(team).zeros(min(problem.ny * problem.nx // n_pes, most), problem.dtype)
    return copy_rate(team, source, source.copy())


def _decomposition(problem: Problem, n_pes: int) -> list[str]:
    """One line for each group of consecutive PEs with the same number of rows."""
    parts = list(enumerate(slabs(problem.ny, n_pes)))
    result = []
    for rows, some in groupby(parts, key=lambda one: one[1].rows):
        group: list[tuple[int, Slab]] = list(some)
        (first, top), (last, bottom) = group[0], group[-1]
        name = f"PE {first}" if first == last else f"PEs {first} to {last}"
        result.append(f"{name}: {rows} rows each, global rows {top.first} to {bottom.first + rows - 1}")
    return result


def _memory(team: Any, problem: Problem, n_pes: int, variant: str) -> list[str]:
    fields, heap = field_bytes(problem, n_pes, variant), heap_bytes(problem, n_pes, variant)
    wanted = f"a symmetric heap of {heap} bytes ({size_text(heap)})" if heap else "the library's default symmetric heap"
    sharing = 1 if team.backend == "cuda" else n_pes  # PEs on a CPU share one memory
    free = free_bytes(team)
    fits = "fits" if sharing * (heap or fields) < free else "DOES NOT FIT"
    where = "on PE 0's device" if sharing == 1 else f"on this machine for {_pes(n_pes)}"
    return [
        f"Memory a PE: {fields} bytes ({size_text(fields)}) of fields, {wanted}; {size_text(free)} free {where}: {fits}",
        f"Result file: {size_text(problem.field_bytes * (2 if problem.method == 'chebyshev' else 1))}",
    ]


def _convergence(problem: Problem, sweep_s: float) -> list[str]:
    """Lines on the sweeps that either method needs, and on the limit that rounding sets."""
    first = math.sqrt(problem.ny - (1 if problem.bc == "nvidia" else 2)) / 4.0  # of a sum of squares of sines
    result = []
    if 0.0 < problem.tol < first:
        for method in spectrum.METHODS:
            sweeps = spectrum.sweeps_to(problem.tol / first, replace(problem, method=method))
            seconds = sweeps * sweep_s * accesses(replace(problem, method=method)) / accesses(problem)
            result.append(f"A norm of {problem.tol:g} takes about {sweeps:.3g} sweeps by {method}, {seconds:.3g} s")
    floor = float(np.finfo(problem.dtype).eps) * math.sqrt(problem.nx * problem.ny)
    if 0.0 < problem.tol < floor:
        result.append(
            f"Rounding to {problem.dtype} keeps norms above about {floor:.0e}: --tol {problem.tol:g} may not be reached"
        )
    return result
