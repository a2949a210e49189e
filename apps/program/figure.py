"""Figures of matplotlib, as PNG files that are complete or absent."""

from pathlib import Path
from typing import Any

from .whole_files import write_whole


def missing() -> str:
    """Why nothing can be plotted, or ""."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        return "matplotlib is not installed: pip install matplotlib, or leave --plot out"
    return ""


def save_figure(figure: Any, path: Path) -> None:
    """Write a figure as PNG, completely or not at all, and close it."""
    from matplotlib import pyplot

    try:
        write_whole(path, lambda part: figure.savefig(part, format="png", dpi=110))
    finally:
        pyplot.close(figure)
