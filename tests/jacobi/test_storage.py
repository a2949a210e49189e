"""Damaged files for --restart: either the same result, or one line and status 1 on every rank."""

import os
from dataclasses import asdict

import h5py
import numpy as np
import pytest
from mpi4py import MPI

from apps.jacobi import storage
from apps.jacobi.problem import Problem
from pennympi.stencil.grid.gather_io import Whole

COMM = MPI.COMM_WORLD
mpi = pytest.mark.mpi


def write(path, problem, value, **kind):
    """Write a checkpoint after 10 sweeps, of a field with this value at each point."""
    with h5py.File(path, "w", libver="v110") as file:
        field = np.full((problem.ny - 2, problem.nx - 2), value, problem.dtype)
        file.create_dataset("field", data=field, **{"fletcher32": True} | kind)
        file.attrs.update(asdict(problem) | {"format": storage.FORMAT, "iterations": 10, "history": "[[0, 1.0]]"})


@mpi
def test_a_run_that_diverges_is_no_checkpoint(jacobi, folder, monkeypatch):
    monkeypatch.setattr("apps.jacobi.problem.column", lambda ny, kind, dtype: np.full(ny, np.nan, dtype))
    monkeypatch.setattr("apps.jacobi.fields.column", lambda ny, kind, dtype: np.full(ny, np.nan, dtype))
    path = folder / "bad.h5"
    status, printed = jacobi(f"--nx 20 --ny {COMM.size + 18} --niter 50 --no-serial --checkpoint", path)
    assert status == 3 and (COMM.rank or "DIVERGED" in printed), printed
    assert not path.exists()


def changed(change):
    """A function of a path that changes the file.  change: (file) -> None"""

    def change_file(path):
        with h5py.File(path, "r+") as file:
            change(file)

    return change_file


def edit(name, *values):
    """A function of a path that replaces an attribute of the file by other values, or deletes it."""
    return changed(lambda file: (file.attrs.pop(name), *[file.attrs.create(name, value) for value in values]))


def replace(create):
    """A function of a path that replaces /field of the file.  create: (file, points) -> None"""
    return changed(lambda file: create(file, file.pop("field")[:]))


def stored(data=None, **kind):
    """A function of a path that stores the points of /field, or other data, with other options."""
    return replace(lambda file, whole: file.create_dataset("field", data=whole if data is None else data, **kind))


def points(value):
    return changed(lambda file: file["field"].__setitem__((3, 5), value))


def pipe(path):
    path.unlink()
    os.mkfifo(path)


NO_FIELD = "its /field is not 6 x 898 of float32, with checksums"
UNREADABLE = {  # the change of the file, and the message
    "a link to no file": (lambda path: (path.unlink(), path.symlink_to("none")), "no such file or directory"),
    "a folder": (lambda path: (path.unlink(), path.mkdir()), "is a folder"),
    "a pipe": (pipe, "it is not a regular file"),
    "empty": (lambda path: path.write_bytes(b""), "file signature not found"),
    "text": (lambda path: path.write_bytes(b"not HDF5 at all\n" * 99), "file signature not found"),
    "cut": (lambda path: path.write_bytes(path.read_bytes()[:3000]), "truncated"),
    "no format": (edit("format"), "its attribute format is missing"),
    "an older format": (edit("format", "pennympi jacobi 5"), "no file of the format 'pennympi jaco"),
    "another shape": (edit("nx", 99), "its /field is not 6 x 97 of float32"),
    "no columns": (edit("nx", 2), "2 is not between 3 and 2147483647"),
    "ny a fraction": (edit("ny", 8.0), "its attribute ny is not of the type int"),
    "niter many": (edit("niter", [100, 200]), "its attribute niter is not of the type int"),
    "nccheck 0": (edit("nccheck", 0), "0 is not between 1"),
    "nccheck true": (edit("nccheck", True), "its attribute nccheck is not of the type int"),
    "tol NaN": (edit("tol", np.nan), "nan is not a number >= 0"),
    "tol text": (edit("tol", "1e-8"), "its attribute tol is not of the type float"),
    "tol empty": (edit("tol", h5py.Empty("f8")), "its attribute tol is not of the type float"),
    "no such dtype": (edit("dtype", "float16"), "its dtype 'float16' is none of float32, float64"),
    "no such sine": (edit("bc", "none"), "its bc 'none' is none of nvidia, periodic"),
    "no iterations": (edit("iterations"), "its attribute iterations is missing"),
    "iterations -5": (edit("iterations", -5), "its iterations are -5, and not from 1 to 1000"),
    "iterations too many": (edit("iterations", 1001), "its iterations are 1001"),
    "no JSON": (edit("history", "[[0, 1.0]"), "delimiter"),
    "nested": (edit("history", "[" * 60000), "recursion"),
    "history a number": (edit("history", "7"), "its history is not a list"),
    "history of texts": (edit("history", '[["a", "b"]]'), "its history is not a list"),
    "history of NaN": (edit("history", "[[0, NaN]]"), "its history is not a list"),
    "history of later": (edit("history", "[[0, 1.0], [10, 0.5]]"), "its history is not a list"),
    "history falling": (edit("history", "[[3, 1.0], [2, 0.5]]"), "its history is not a list"),
    "no UTF-8": (edit("history", np.bytes_(b"\xff")), "can't decode"),
    "no field": (replace(lambda file, whole: None), NO_FIELD),
    "a group": (replace(lambda file, whole: file.create_group("field")), NO_FIELD),
    "a type": (replace(lambda file, whole: file.__setitem__("field", np.dtype("f4"))), NO_FIELD),
    "no checksums": (stored(), NO_FIELD),
    "float64": (stored(dtype="f8", fletcher32=True), NO_FIELD),
    "big-endian": (stored(dtype=">f4", fletcher32=True), NO_FIELD),
    "texts": (stored(["a"]), NO_FIELD),
    "a link to nothing": (replace(lambda file, whole: file.__setitem__("field", h5py.SoftLink("/no"))), NO_FIELD),
    "NaN": (points(np.nan), "its /field has points that are not finite"),
    "infinity": (points(-np.inf), "its /field has points that are not finite"),
}


def refused(status, printed, path, why=""):
    begin = f"error: --restart {path}: "
    assert status == 1 and printed.startswith(begin) and printed.count("\n") == 1 and why in printed, (status, printed)


@pytest.mark.parametrize("kind", UNREADABLE)
def test_what_is_no_checkpoint(jacobi, tmp_path, kind):
    path, (change, why) = tmp_path / "run.h5", UNREADABLE[kind]
    write(path, Problem(900, 8), 0)
    change(path)
    refused(*jacobi("--restart", path), path, why)


@mpi
def test_all_ranks_report_a_damaged_file(jacobi, folder, monkeypatch):
    """A file that PE 0 refuses before any PE continues, and a file that only the last PE can't read."""
    path, begin = folder / "run.h5", f"error: --restart {folder / 'run.h5'}: "

    def datasets_but_of_last(whole, path, views):
        if COMM.rank == COMM.size - 1:
            raise OSError("filter returned failure during read")
        return datasets(whole, path, views)

    datasets = Whole._datasets
    for change, why in ((UNREADABLE["a group"][0], "its /field is not"), (None, "filter returned failure")):
        if COMM.rank == 0:
            write(path, Problem(900, COMM.size + 8), 0)
            if change:
                change(path)
        COMM.Barrier()
        if change is None:
            monkeypatch.setattr(Whole, "_datasets", datasets_but_of_last)
        status, printed = jacobi("--no-serial --restart", path)
        assert status == 1 and (COMM.rank or (printed.startswith(begin) and why in printed)), printed
        assert printed.count("\n") == (COMM.rank == 0), printed


def test_flipped_bytes(jacobi, tmp_path):
    """A saved file with one wrong byte gives either the same field and history, or one line."""
    path, changed, seed = tmp_path / "run.h5", tmp_path / "changed.h5", int.from_bytes(os.urandom(4))
    assert jacobi("--nx 40 --ny 30 --niter 40 --nccheck 7 --no-serial --output", path)[0] == 0
    whole, right = path.read_bytes(), None
    random = np.random.default_rng(seed)
    missed = 0
    for index in [None, *random.integers(0, len(whole), 400)]:
        content = bytearray(whole)
        if index is not None:
            content[index] ^= int(random.integers(1, 256))
        changed.write_bytes(content)
        try:
            problem, outcome = storage.read(COMM, changed)
            with h5py.File(changed) as file:
                result = problem, outcome.iterations, outcome.history, file["field"][:].tobytes()
        except storage.Unreadable as error:
            assert "\n" not in str(error)
            continue
        right = right or result
        missed += index is not None
        assert result == right, f"byte {index}, seed {seed}"
    assert missed < 100, "most bytes belong to the field and its description"
