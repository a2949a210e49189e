"""Checkpoints with a wrong byte, cut short, changed, or of another program: refused in one sentence, never read."""

import os
import re
import signal
from contextlib import contextmanager

import h5py
import numpy as np
import pytest
from launch import launch
from mpi4py import MPI

from apps.jacobi.cli import cli
from apps.jacobi.grid.problem import Problem
from apps.jacobi.storage import restart
from apps.jacobi.storage.files import FieldFile
from apps.jacobi.storage.seal import SEAL_BYTES, row_checksums
from apps.program.outcome import Outcome

if MPI.COMM_WORLD.Get_size() > 1:
    pytest.skip("these tests read files on one PE: run them without mpirun", allow_module_level=True)

PROBLEM = Problem(9, 8, niter=90, tol=0.25, dtype="float64", method="chebyshev")
ROWS = np.random.default_rng(1).random((6, 9))
FLIPS = 300
REMEDY = "go on from an older checkpoint, or start again without --restart"


def written(path, problem=PROBLEM, rows=ROWS):
    """A checkpoint.  Returns its bytes."""
    file = FieldFile(path, problem)
    for name in restart.names(problem):
        file.write(name, 1, rows)
        file.add_checksums(name, row_checksums(rows))
    file.finish(Outcome(7, "interrupted", [(k, 2.0 / (k + 1)) for k in range(7)]))
    return path.read_bytes()


def refusal(path):
    """Why a restart refuses the file; "" if it gives the state that was written."""
    try:
        source = restart.Source(MPI.COMM_SELF, path)
    except ValueError as error:
        assert "\n" not in str(error)
        return str(error)
    for name in restart.names(PROBLEM):
        assert (source[name][np.arange(1, 7)] == ROWS).all()
    assert source.problem == PROBLEM and source.outcome.iterations == 7 and len(source.outcome.history) == 7
    source.close()
    return ""


def test_every_flipped_byte_is_found(tmp_path):
    path = tmp_path / "run.h5"
    whole, random = written(path), np.random.default_rng(11)
    assert not refusal(path)
    with h5py.File(path) as file:
        regions = [file[name].id.get_offset() for name in ("field", "previous", "residual/norm", "checksum/field")]
    superblock = whole.index(b"\x89HDF")
    assert superblock == SEAL_BYTES
    first = [start + k for start in (0, superblock, *regions) for k in range(16)]
    text = [match.start() for match in re.finditer(rb"iterations|chebyshev|nccheck|format|sha256", whole)]
    for at in [*first, *text, len(whole) - 1, *random.integers(len(whole), size=FLIPS)]:
        flipped = bytearray(whole)
        flipped[at] ^= 1 << random.integers(8)
        path.write_bytes(flipped)
        reason = refusal(path)
        assert "damaged" in reason, f"byte {at}: {reason!r}"
    path.write_bytes(whole)
    assert not refusal(path)


def test_the_row_is_named(tmp_path):
    path = tmp_path / "run.h5"
    whole = bytearray(written(path))
    with h5py.File(path) as file:
        at = file["previous"].id.get_offset()
    whole[at + 5 * 9 * 8 + 3] ^= 4
    path.write_bytes(whole)
    assert refusal(path) == "it is damaged in row 5 of /previous"


def test_swapped_rows_are_found(tmp_path):
    path = tmp_path / "run.h5"
    whole = written(path)
    one, two = ROWS[2].tobytes(), ROWS[3].tobytes()
    path.write_bytes(whole.replace(one, bytes(len(one))).replace(two, one).replace(bytes(len(one)), two))
    assert "damaged" in refusal(path)


def test_converged_chebyshev_is_no_checkpoint(tmp_path):
    path = tmp_path / "run.h5"
    file = FieldFile(path, PROBLEM)
    file.write("field", 1, ROWS)
    file.add_checksums("field", row_checksums(ROWS))
    file.finish(Outcome(9, "converged"))
    assert "converged Chebyshev" in refusal(path)


@contextmanager
def within(seconds):
    """A test that hangs fails."""

    def late(*_):
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _cut(keep):
    return lambda path: path.write_bytes(written(path)[:keep])


def _bytes(content):
    return lambda path: path.write_bytes(content)


def _edited(edit):
    def make(path):
        written(path)
        with h5py.File(path, "r+") as file:
            edit(file)

    return make


def _other_hdf5(path):
    with h5py.File(path, "w") as file:
        file["field"] = ROWS
        file.attrs["format"] = "pennympi jacobi 2"  # as it was before there were seals


def _replace(name, value):
    def edit(file):
        del file[name]
        file[name] = value

    return edit


FILES = {
    "absent": (lambda path: None, "there is no such file"),
    "empty": (_bytes(b""), "does not begin with the seal"),
    "picture": (_bytes(b"\x89PNG\r\n\x1a\n" + bytes(900)), "does not begin with the seal"),
    "text": (_bytes(b"not HDF5 at all\n" * 99), "does not begin with the seal"),
    "zeros": (_bytes(bytes(4096)), "does not begin with the seal"),
    "older version": (_other_hdf5, "another program or version wrote it"),
    "folder": (lambda path: path.mkdir(), "it is not a regular file"),
    "pipe": (os.mkfifo, "it is not a regular file"),
    "device": (lambda path: path.symlink_to("/dev/zero"), "it is not a regular file"),
    "link to nothing": (lambda path: path.symlink_to("nothing"), "there is no such file"),
    "link to itself": (lambda path: path.symlink_to(path), "cannot be read"),
    "cut in the seal": (_cut(100), "does not begin with the seal"),
    "cut behind the seal": (_cut(512), "it is damaged: it has 512 bytes of"),
    "cut in the field": (_cut(3000), "it is damaged: it has 3000 bytes of"),
    "cut at the end": (_cut(-1), "it is damaged: it has "),
    "longer": (lambda path: path.write_bytes(written(path) + b"x"), "it is damaged: it has "),
    "twice": (lambda path: path.write_bytes(2 * written(path)), "it is damaged: it has "),
    "other dtype": (_edited(_replace("field", np.zeros((8, 9), "f4"))), "damaged"),
    "other shape": (_edited(_replace("field", np.zeros((9, 8)))), "damaged"),
    "field gone": (_edited(lambda file: file.__delitem__("field")), "damaged"),
    "other values": (_edited(lambda file: file["field"].__setitem__((3, 4), 0.5)), "damaged"),
    "no iterations": (_edited(lambda file: file.attrs.__delitem__("iterations")), "damaged"),
    "iterations not a number": (_edited(lambda file: file.attrs.__setitem__("iterations", np.nan)), "damaged"),
    "other boundary": (_edited(lambda file: file.attrs.__setitem__("bc", "periodic")), "damaged"),
    "longer history": (_edited(_replace("residual/iteration", np.arange(99))), "damaged"),
    "no checksums": (_edited(lambda file: file.__delitem__("checksum")), "damaged"),
}


@pytest.mark.parametrize("kind", FILES)
def test_one_sentence(tmp_path, capsys, kind):
    make, message = FILES[kind]
    path = tmp_path / "run.h5"
    make(path)
    with within(10), pytest.raises(SystemExit) as stop:
        cli.parse(MPI.COMM_SELF, ["--restart", str(path)])
    said = capsys.readouterr().err
    assert stop.value.code == 2 and message in said
    assert said.startswith(f"jacobi: error: --restart {path}: ") and said.endswith(f"; {REMEDY}\n")
    assert said.count("\n") == 1


def test_all_ranks_of_a_job_refuse(tmp_path):
    path = tmp_path / "run.h5"
    whole = bytearray(written(path, Problem(300, 200), np.random.default_rng(2).random((198, 300), "f4")))
    whole[len(whole) // 2] ^= 1
    path.write_bytes(whole)
    ended = launch(3, "-m", "apps.jacobi", "--restart", str(path), limit_s=60)
    assert ended.rc == 2 and not ended.left_alive
    assert re.fullmatch(rf"jacobi: error: --restart {path}: it is damaged in row \d+ of /field; {REMEDY}\n", ended.output)
