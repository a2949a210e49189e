"""Files that are damaged, planted or can't be written."""

import os
import pickle
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from jobs import PROGRAMS, job, last_words, record_of
from launch import ROOT, TRACEBACK

from pennympi.files import FileError
from pennympi.selection import table

TARGET = Path(tempfile.mkdtemp(prefix="soak-")) / "target"  # which nothing may change
FULL = ["unshare", "-m", "sh", "-c", 'mount -t tmpfs -o size=16k tmpfs "$0" && exec "$@"']
TABLE = next((ROOT / "pennympi" / "selection" / "measured").glob("*.toml")).read_bytes()


class Planted:
    """A pickle that writes a file when it is read."""

    def __reduce__(self):
        return os.system, (f"echo ran >{TARGET}",)


def damaged(data, choose):
    """Some bytes, with a bit flipped, cut short, or with a part of them twice."""
    at, to = sorted(choose.randrange(len(data) + 1) for _ in range(2))
    flipped = data[:at] + bytes([data[at] ^ 1 << choose.randrange(8)]) + data[at + 1 :] if at < len(data) else data
    return choose.choice([flipped, data[:at], b"", data[:to] + data[at:], data[:at] + data[to:]])


def damage(path, choose):
    path.write_bytes(damaged(path.read_bytes(), choose))


def plant(path, choose):
    path.write_bytes(pickle.dumps(Planted()))


def link(path, choose):
    path.unlink()
    path.symlink_to(TARGET)


def open_to_others(path, choose):
    path.chmod(0o666)
    path.parent.chmod(0o777)


def with_cache(folder, around=()):
    """What is wrong with a job that keeps its kernels there: it is right, or its error names the folder."""
    ended = job(2, ROOT / "examples" / "first_allreduce.py", around=around, PENNYMPI_CACHE_DIR=str(folder))
    if ended.rc == 0 and ", 0 elements wrong" in ended.output:
        return ""
    refused = ended.rc and str(folder) in ended.output and ended.output.count(TRACEBACK) <= 1
    return "" if refused else f"status {ended.rc}: {last_words(ended)}"


def test_damaged_kernels(turns, row, choose, tmp_path):
    """Kept kernels are flipped, cut, planted, linked, or open to others

    they are compiled anew, or refused by name; nothing that was planted runs, and nothing is written through a link
    """
    good, bad = tmp_path / "good", tmp_path / "bad"
    row.count(with_cache(good))
    for turn in turns:
        shutil.rmtree(bad, ignore_errors=True)
        shutil.copytree(good, bad)
        TARGET.write_text("precious")
        kind = (damage, plant, link, open_to_others)[turn % 4]
        files = sorted(path for path in bad.rglob("*") if path.is_file() and path.suffix != ".lock")
        for path in choose.sample(files, max(1, len(files) // 3)):
            kind(path, choose)
        failure = with_cache(bad) or ("" if TARGET.read_text() == "precious" else "a link or a planted file wrote")
        row.count(failure and f"{kind.__name__}: {failure}")
    assert not row.failures


def wrong_table(path):
    """What is wrong with the reading of a table: it is a table, or an error that names the file."""
    try:
        table.read(path)
    except FileError as error:
        return "" if str(path) in str(error) else f"does not name the file: {error}"
    return ""


def test_damaged_files(turns, row, choose, tmp_path):
    """Checkpoints of `grid.save` and tables of `tune` are cut, overwritten or of another kind

    one kind of error on all PEs, or the right values; an error names the table
    """
    for _ in turns:
        seed = choose.randrange(1 << 24)
        done, failure = record_of(
            job(choose.choice((1, 2, 3)), PROGRAMS / "checkpoints.py", "damaged", tmp_path, 100, seed)
        )
        row.count(failure and f"seed {seed}: {failure}", done)
        for _ in range(300):
            path = tmp_path / "table.toml"
            path.write_bytes(damaged(TABLE, choose))
            failure = wrong_table(path)
            row.count(failure and f"{failure}, for {path.read_bytes()!r}")
    assert not row.failures


def test_a_full_disk(row, tmp_path):
    """The disk of the kept kernels and of a checkpoint is full

    the job goes on without keeping kernels; a checkpoint is an error on all PEs, and no part of it is left
    """
    if subprocess.run([*FULL, str(tmp_path), "true"], capture_output=True).returncode:
        pytest.skip("no tmpfs can be mounted here")
    around = [*FULL, str(tmp_path)]
    row.count(with_cache(tmp_path, around))
    done, failure = record_of(job(2, PROGRAMS / "checkpoints.py", "full", tmp_path, around=around))
    row.count(failure, done)
    assert not row.failures
