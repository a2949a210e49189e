"""The solver's files: complete or absent, and readable by the next run and by ParaView."""

import resource
from contextlib import contextmanager
from pathlib import Path
from xml.etree import ElementTree

import h5py
import numpy as np
import pytest
from mpi4py import MPI

from apps.jacobi.grid.problem import Problem
from apps.jacobi.report.plot import Picture
from apps.jacobi.storage import restart, xdmf
from apps.jacobi.storage.files import FieldFile
from apps.jacobi.storage.save import Writer
from apps.jacobi.storage.seal import row_checksums
from apps.program.outcome import Outcome
from apps.program.whole_files import in_words, part_name, why_unwritable, write_text

PROBLEM = Problem(6, 5, niter=90, tol=0.25, nccheck=3, dtype="float64", bc="periodic", method="chebyshev")
ROWS = np.arange(18.0).reshape(3, 6)
OUTCOME = Outcome(7, "interrupted", [(0, 2.0), (6, 0.1 + 0.2)])


def written(path, problem=PROBLEM):
    file = FieldFile(path, problem)
    for name in restart.names(problem):
        file.write(name, 1, ROWS[:2])
        file.write(name, 3, ROWS[2:])
        file.add_checksums(name, row_checksums(ROWS))
    return file


def read(path):
    return restart.Source(MPI.COMM_SELF, path)


def test_file_is_whole_or_absent(tmp_path):
    path = tmp_path / "field.h5"
    file = written(path)
    assert not path.exists()
    file.finish(OUTCOME)
    assert [one.name for one in tmp_path.iterdir()] == ["field.h5"]
    with h5py.File(path) as h5:
        for name in ("field", "previous"):
            field = h5[name][:]
            assert field.dtype == np.float64 and (field[1:-1] == ROWS).all()
            assert (field[0] == ROWS[-1]).all() and (field[-1] == ROWS[0]).all()
        assert h5["residual/iteration"][:].tolist() == [0, 6] and h5["residual/norm"][:].tolist() == [2.0, 0.1 + 0.2]
    before = path.read_bytes()
    file = written(path)
    file.discard()
    assert path.read_bytes() == before and not part_name(path).exists()


def test_what_was_written_is_read(tmp_path):
    path = tmp_path / "field.h5"
    written(path).finish(OUTCOME)
    source = read(path)
    assert source.problem == PROBLEM and type(source.problem.nx) is int and type(source.problem.tol) is float
    assert (source.outcome.iterations, source.outcome.history) == (7, OUTCOME.history)
    for rows in ([3, 1, 2, 3, 1], [2], [1, 2, 3]):
        assert (source["previous"][np.array(rows)] == ROWS[np.array(rows) - 1]).all()
    source.close()


@contextmanager
def disk_of(most_bytes):
    """Files can't grow larger, as if the disk were full."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_a_full_disk_leaves_the_text_and_the_picture_before(tmp_path):
    pytest.importorskip("matplotlib")
    text, png = tmp_path / "a.json", tmp_path / "a.png"
    picture = Picture(Problem(40, 30))
    picture(1, np.ones((28, 40), "f4"))
    write_text(text, "before")
    picture.draw(png, [(0, 1.0)], "before")
    before = png.read_bytes()
    with disk_of(5000):
        with pytest.raises(OSError, match="File too large"):
            write_text(text, "x" * 10_000)
        with pytest.raises(OSError, match="File too large"):
            picture.draw(png, [(0, 1.0)], "after")
    assert (text.read_text(), png.read_bytes()) == ("before", before)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["a.json", "a.png"]
    assert in_words(OSError(28, "No space left on device")) == "no space left on device"


def test_a_full_disk_leaves_the_file_before(tmp_path):
    path, problem = tmp_path / "a.h5", Problem(600, 300)
    rows = np.ones((298, 600), "float32")
    writer = Writer(path, problem)
    writer.take("field")(1, rows)
    writer.add_checksums("field", row_checksums(rows))
    writer.finish(OUTCOME)
    assert not writer.error and sorted(one.name for one in tmp_path.iterdir()) == ["a.h5", "a.xdmf"]
    before = path.read_bytes()
    for most_bytes in (100, 2000, 100_000, len(before) - 2000):  # in HDF5's first records, in the rows, behind them
        with disk_of(most_bytes):
            writer = Writer(path, problem)
            writer.take("field")(1, rows)
            writer.add_checksums("field", row_checksums(rows))
            writer.finish(OUTCOME)
        assert "file too large" in writer.error and "\n" not in writer.error
        assert path.read_bytes() == before and not part_name(path).exists()
    assert Writer(tmp_path / "no" / "a.h5", problem).error


def test_xdmf_points_into_the_file(tmp_path):
    path = tmp_path / "run.h5"
    written(path).finish(OUTCOME)
    xdmf.write(path, PROBLEM, 7)
    grid = ElementTree.parse(tmp_path / "run.xdmf").getroot().find("Domain/Grid")
    assert grid.find("Time").get("Value") == "7" and grid.find("Topology").get("Dimensions") == "5 6"
    item = grid.find("Attribute/DataItem")
    name, data = item.text.split(":")
    with h5py.File(tmp_path / name) as h5:
        assert h5[data].shape == tuple(map(int, item.get("Dimensions").split()))
        assert h5[data].dtype.itemsize == int(item.get("Precision"))


def test_paths_are_tried_first(tmp_path):
    assert why_unwritable(tmp_path / "a.h5", 1 << 60).startswith("it takes 1152921504606846976 bytes, and ")
    with disk_of(1000):
        assert why_unwritable(tmp_path / "a.json") == "file too large"
    assert why_unwritable(tmp_path / "a.json") == "" and not list(tmp_path.iterdir())
    assert "no such file" in why_unwritable(tmp_path / "no" / "a.json")
    assert "folder" in why_unwritable(tmp_path)
    write_text(tmp_path / "a.json", "{}\n")
    assert (tmp_path / "a.json").read_text() == "{}\n" and len(list(Path(tmp_path).iterdir())) == 1
