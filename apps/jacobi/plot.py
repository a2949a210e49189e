"""A plot of the field and of the history of norms."""

from pathlib import Path
from typing import Any

import numpy as np

from ..program.figure import save_figure
from .grid.problem import Problem

MAX_PIXELS = 1024


class Picture:
    """Keeps some rows and columns of the field as they arrive, and draws them."""

    def __init__(self, problem: Problem):
        self._problem = problem
        self._stride = max(1, -(-max(problem.nx, problem.ny) // MAX_PIXELS))
        self._rows: list[np.ndarray] = []

    def take(self, first: int, rows: np.ndarray) -> None:
        """Keep some of the rows (n, nx), the first of which is global row ``first``.  Rows must come in order."""
        skip = -(first - 1) % self._stride
        self._rows += list(rows[skip :: self._stride, :: self._stride].copy())

    def draw(self, path: Path, history: list[tuple[int, float]], title: str) -> None:
        """Write the PNG completely, or not at all."""
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot

        figure, (left, right) = pyplot.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
        nx, ny = self._problem.nx, self._problem.ny
        shape: Any = "equal" if 0.5 <= nx / ny <= 2 else "auto"
        extent = (0, nx - 1, ny - 1, 0)
        image = left.imshow(np.array(self._rows), cmap="RdBu_r", vmin=-1, vmax=1, aspect=shape, extent=extent)
        figure.colorbar(image, ax=left, ticks=[-1, -0.5, 0, 0.5, 1])
        left.set(title=title, xlabel="column", ylabel="row")
        norms = [(iteration + 1, norm) for iteration, norm in history if norm > 0]
        if norms:
            right.semilogy(*zip(*norms, strict=True), color="tab:blue", marker="." if len(norms) < 50 else None)
            (last, least), tol = norms[-1], self._problem.tol
            right.plot(last, least, "o", color="tab:blue")
            right.annotate(f"{least:.1e}", (last, least), (4, -8), textcoords="offset points", ha="right", va="top")
            if least <= tol:
                right.axhline(tol, color="tab:gray", linestyle="--", linewidth=1)
                right.annotate(f"--tol {tol:g}", (0, tol), (0, 4), textcoords="offset points", color="tab:gray")
            right.margins(y=0.12)  # for the words
        right.set(title="norm of the change of a sweep", xlabel="sweeps")
        right.grid(True, alpha=0.3)
        save_figure(figure, path)
