"""A plot of the field and of the history of norms."""

from pathlib import Path
from typing import Any

import numpy as np

from .problem import Problem
from .solver import Solver

MAX_PIXELS = 1024


def sampled(solver: Solver) -> np.ndarray:
    """At most MAX_PIXELS rows and columns of the field, on every PE.  Collective."""
    fields, stride = solver.fields, max(1, -(-max(solver.problem.nx, solver.problem.ny) // MAX_PIXELS))
    own = fields.own()[-fields.first % stride :: stride, ::stride].copy()
    parts = sorted(solver.team.gather((fields.first, own)), key=lambda part: part[0])
    return np.concatenate([rows for _, rows in parts])


def draw(path: Path, problem: Problem, rows: np.ndarray, history: list[tuple[int, float]], title: str) -> None:
    """Write the PNG.  rows: the result of ``sampled``"""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    nx, ny = problem.nx, problem.ny
    shape: Any = "equal" if 0.5 <= nx / ny <= 2 else "auto"
    extent = (0, nx - 1, ny - 1, 0)
    image = left.imshow(np.array(rows), cmap="RdBu_r", vmin=-1, vmax=1, aspect=shape, extent=extent)
    figure.colorbar(image, ax=left, ticks=[-1, -0.5, 0, 0.5, 1])
    left.set(title=title, xlabel="column", ylabel="row")
    norms = [(iteration + 1, norm) for iteration, norm in history if norm > 0]
    if norms:
        right.semilogy(*zip(*norms, strict=True), color="tab:blue", marker="." if len(norms) < 50 else None)
    last = f", {norms[-1][1]:.1e} at last" if norms else ""
    right.set(title=f"norm of the change of a sweep{last}", xlabel="sweeps")
    right.grid(True, alpha=0.3)
    figure.savefig(path, format="png", dpi=110)
