"""A plot of the field and of the history of norms."""

from pathlib import Path
from typing import Any

import numpy as np

from ..grid.problem import Problem
from ..storage.files import write_whole

MAX_PIXELS = 1024


def missing() -> str:
    """Why nothing can be plotted, or ""."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        return "matplotlib is not installed: pip install matplotlib, or leave --plot out"
    return ""


class Picture:
    """Keeps some rows and columns of the field as they arrive, and draws them."""

    def __init__(self, problem: Problem):
        self._problem = problem
        self._stride = max(1, -(-max(problem.nx, problem.ny) // MAX_PIXELS))
        self._rows: list[np.ndarray] = []

    def __call__(self, first: int, rows: np.ndarray) -> None:
        """Keep some of the rows (n, nx), the first of which is global row ``first``.  Rows must come in order."""
        skip = -(first - 1) % self._stride
        self._rows += list(rows[skip :: self._stride, :: self._stride].copy())

    def draw(self, path: Path, history: list[tuple[int, float]], title: str, tol: float = 0.0) -> None:
        """Write the PNG completely, or not at all.  tol: the norm at which the solve stops, drawn as a line"""
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot

        figure, (left, right) = pyplot.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
        extent = (0, self._problem.nx - 1, self._problem.ny - 1, 0)
        image = left.imshow(np.array(self._rows), cmap="RdBu_r", vmin=-1, vmax=1, aspect="auto", extent=extent)
        figure.colorbar(image, ax=left)
        left.set(title=title, xlabel="column", ylabel="row")
        norms = [(iteration, norm) for iteration, norm in history if norm > 0]
        if norms:
            right.semilogy(*zip(*norms, strict=True), marker="." if len(norms) < 50 else None, label=self._problem.method)
            if tol > 0:
                right.axhline(tol, color="tab:gray", linestyle="--", label="--tol")
            right.legend()
        right.set(title="residual", xlabel="iteration", ylabel="norm of the change of a sweep")
        right.grid(True, alpha=0.3)
        save_figure(figure, path)


def save_figure(figure: Any, path: Path) -> None:
    """Write a figure as PNG, completely or not at all, and close it."""
    from matplotlib import pyplot

    try:
        write_whole(path, lambda part: figure.savefig(part, format="png", dpi=110))
    finally:
        pyplot.close(figure)
