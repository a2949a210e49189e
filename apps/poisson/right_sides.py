"""Right-hand sides: the manufactured one, a file, or a function of the user's."""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from . import manufactured
from .problem import Problem

READ_ERRORS = (OSError, RuntimeError, KeyError, TypeError, ValueError, AttributeError, EOFError)
Of = Callable[[Any], np.ndarray]  # grid -> this PE's own points of f


def shape_of(path: Path, dataset: str) -> tuple[int, ...]:
    """The shape of a right-hand side in a file.  Raises ValueError that says what is wrong with it."""
    try:
        return tuple(map(int, _opened(path, dataset).shape))
    except READ_ERRORS as error:
        raise ValueError(f"{path} holds no array {'' if path.suffix == '.npy' else dataset!r}: {error}") from None


def _opened(path: Path, dataset: str) -> Any:
    """The array in a file, of which an index reads a part."""
    if path.suffix == ".npy":
        return np.load(path, mmap_mode="r", allow_pickle=False)
    import h5py

    data = h5py.File(path, "r", locking=False)[dataset]
    if not isinstance(data, h5py.Dataset):
        raise ValueError("it is a group")
    return data


def of_file(path: Path, dataset: str) -> Of:
    """f from a file: each PE reads its own points."""

    def read(grid: Any) -> np.ndarray:
        own = tuple(slice(first, first + n) for first, n in zip(grid.first, grid.own, strict=True))
        return np.asarray(_opened(path, dataset)[own], np.float64)

    return read


def of_function(function: Callable[..., Any], problem: Problem) -> Of:
    """f(x, y) or f(x, y, z) of a user, called with NumPy arrays of this PE's coordinates, an open mesh."""

    def compute(grid: Any) -> np.ndarray:
        every = zip(problem.shape, problem.spacings, problem.periodic, strict=True)
        axes = [(np.arange(n) + (0 if around else 1)) * h for n, h, around in every]
        return np.asarray(function(*manufactured.own_part(grid, axes)), np.float64)

    return compute


def named(text: str, problem: Problem) -> Of:
    """f as --rhs names it: "manufactured", FILE.npy, FILE.h5[:DATASET], or MODULE:FUNCTION.  Raises ValueError."""
    if text == "manufactured":
        return lambda grid: manufactured.right_side(grid, problem)
    if found := file_of(text):
        return of_file(*found)
    module, _, name = text.partition(":")
    try:
        function = getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        known = "neither manufactured, nor a .npy or .h5 file, nor MODULE:FUNCTION"
        raise ValueError(f"--rhs {text} is {known}: {error}") from None
    return of_function(function, problem)


def file_of(text: str) -> tuple[Path, str] | None:
    """(path, dataset) where the text names a file, else None."""
    path, _, dataset = text.partition(":")
    return (Path(path), dataset or "f") if Path(path).suffix in (".npy", ".h5", ".hdf5") else None
