"""Compiled kernels on disk: made once, loaded afterwards, and one clear error where they can't be kept."""

from pathlib import Path

import pytest
import rooms
from launch import launch
from mpi4py import MPI
from settled import settled

from pennympi.compile import cache

if MPI.COMM_WORLD.Get_size() > 1:
    pytest.skip("these tests start their own jobs: run them without mpirun", allow_module_level=True)

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import pennympi
from pennympi.kernels.block import lanes, load, real, store


def twice(ctx, x, n):
    for i in lanes(0, n):
        store(x, i, real({factor}) * load(x, i))


with pennympi.init() as team:
    x = team.full(1000, 1)
    for name in ("ring", "one_shot", "tree"):
        team.allreduce(x, op="max", algorithm=name)
    team.exchange(team.zeros(10), x[:10], team.me)
    team.kernel(twice, "float32")(1, x, 1000)
    y = team.full(1000, 1, "float64")
    team.kernel(twice, "float64")(1, y, 1000)
    team.synchronize()
    assert (x == {factor}).all() and (y == {factor}).all()
"""


def run(program, factor, cache):
    program.write_text(PROGRAM.format(factor=factor))
    ended = launch(2, str(program), env=settled(2, PENNYMPI_CACHE_DIR=str(cache)), limit_s=300)
    assert ended.rc == 0, ended.output
    return {path: path.stat().st_mtime_ns for path in cache.rglob("*") if path.is_file() and path.suffix != ".lock"}


def test_a_second_process_loads(tmp_path):
    program, cache = tmp_path / "program.py", tmp_path / "cache"
    cold = run(program, 2, cache)
    assert len(cold) > 10
    assert not [path for path in cold if path.suffix == ".tmp"]
    warm = run(program, 2, cache)
    assert set(warm) == set(cold), "a second process made files of its own"
    assert warm == cold, "a second process wrote files anew"
    run(program, 4, cache)  # the program checks that it did not get the old text's machine code


@pytest.mark.parametrize("n_pes", [1, 2])
def test_a_folder_that_can_not_be(tmp_path, n_pes):
    program, occupied = tmp_path / "program.py", tmp_path / "occupied"
    program.write_text(PROGRAM.format(factor=2))
    occupied.write_text("a file, so nothing can be below it")
    ended = launch(n_pes, str(program), env=settled(n_pes, PENNYMPI_CACHE_DIR=str(occupied / "cache")), limit_s=100)
    assert ended.rc not in (0, None), ended.output
    assert "Error: compiled kernels can't be kept in" in ended.output, ended.output
    assert "set PENNYMPI_CACHE_DIR to a writable folder" in ended.output
    assert ended.output.count("Traceback (most recent call last)") == 1, ended.output


def test_the_digest_covers_all_that_the_backends_import():
    """Whatever a backend imports, directly or over others, machine code may be made from."""
    sources = rooms.read(ROOT, "pennympi")
    for path, source in rooms.read(ROOT, "kernels").items():
        sources[f"pennympi/{path}"] = rooms.Source(f"pennympi/{path}", source.text)
    backends = tuple(path for path in sources if path.startswith(("pennympi/host/", "pennympi/cuda/")))
    imported = rooms.reachable(sources, backends)
    digested = {
        path.relative_to(cache.LIBRARY.parent).as_posix() for p in cache.SOURCES for path in cache.LIBRARY.glob(p)
    }
    assert {"pennympi/compile/bind.py", "pennympi/job/control.py", "pennympi/kernels/block.py"} <= imported
    assert not imported - digested
    assert {path for path in sources if path.startswith("pennympi/kernels/")} <= digested, "a kernel is not imported"


def test_the_folder_is_another_for_other_sources_and_versions(tmp_path, monkeypatch):
    library = tmp_path / "library"
    files = [library / pattern.replace("*", "one") for pattern in (*cache.SOURCES, "bench/*.py", "cuda/*.txt")]
    for file in files:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("x = 1\n")
    monkeypatch.setattr(cache, "LIBRARY", library)
    monkeypatch.setenv("PENNYMPI_CACHE_DIR", str(tmp_path / "cache"))
    folder = cache.folder.__wrapped__
    first = folder("numba 1")
    assert folder("numba 1") == first and first.is_dir() and first.parent == tmp_path / "cache"
    others = {folder("numba 2"), folder(), folder("numba 1", "cuda 1")}
    for file in files[:-2]:
        file.write_text("x = 2\n")
        others.add(folder("numba 1"))
        file.write_text("x = 1\n")
    assert len(others) == 3 + len(cache.SOURCES) and first not in others
    for file in files[-2:]:  # machine code is not made from these
        file.write_text("x = 2\n")
    assert folder("numba 1") == first
