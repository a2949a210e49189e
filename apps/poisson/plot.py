"""A picture of the solution and of the convergence."""

from pathlib import Path

import numpy as np

from ..program.figure import save_figure
from .problem import Problem

MAX_PIXELS = 1024


def draw(path: Path, problem: Problem, u: np.ndarray, history: list[tuple[int, float]], title: str) -> None:
    """Write the PNG completely, or not at all.

    u: of the whole grid, of which a plane is drawn: the middle one of a box;  history: (iteration, norm of the residual)
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
    plane = u if u.ndim == 2 else u[len(u) // 2]
    stride = -(-max(plane.shape) // MAX_PIXELS)
    image = left.imshow(plane[::stride, ::stride].T, origin="lower", cmap="viridis", extent=(0, 1, 0, 1))
    figure.colorbar(image, ax=left)
    axes = ("x", "y") if u.ndim == 2 else ("y", "z")
    left.set(title=title if u.ndim == 2 else f"{title}, x = 1/2", xlabel=axes[0], ylabel=axes[1])
    norms = [(iteration, norm) for iteration, norm in history if norm > 0]
    if norms:
        right.semilogy(*zip(*norms, strict=True), color="tab:blue", marker="." if len(norms) < 50 else None)
        right.axhline(problem.tol, color="tab:gray", linestyle="--", linewidth=1)
        right.annotate(f"--tol {problem.tol:g}", (0, problem.tol), (0, 4), textcoords="offset points", color="tab:gray")
        right.margins(y=0.12)
    right.set(title=f"residual over right-hand side, preconditioner {problem.preconditioner}", xlabel="iterations")
    right.grid(True, alpha=0.3)
    save_figure(figure, path)
