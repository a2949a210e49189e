"""Compiled kernels on disk: made once, loaded afterwards, repaired, and one warning where they can't be kept."""

import os
import pickle
import pwd
import shutil
import subprocess
import sys
import time
from pathlib import Path

import grimp
import pytest
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
    x = team.full(1000, 1, "float32")
    team.allreduce(x, op="max", algorithm="one_shot")
    team.kernel(twice, "float32")(1, x, 1000)
    y = team.full(1000, 1, "float64")
    team.kernel(twice, "float64")(1, y, 1000)
    team.synchronize()
    assert (x == {factor}).all() and (y == {factor}).all()
"""


def job(tmp_path, cache, factor=2, n_pes=2, text=PROGRAM, **env):
    """The output of the program with this cache; it checks its results."""
    program = tmp_path / "program.py"
    program.write_text(text.format(factor=factor))
    ended = launch(n_pes, str(program), env=settled(n_pes, PENNYMPI_CACHE_DIR=str(cache), **env), limit_s=300)
    assert ended.rc == 0, ended.output
    return ended.output


def files(cache):
    return {path: path.stat().st_mtime_ns for path in cache.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def warm(tmp_path_factory):
    """A cache with all kernels of the program.  It is copied, or read as a shared one, not written."""
    path = tmp_path_factory.mktemp("warm")
    job(path, path / "cache")
    return path / "cache"


def short_job(tmp_path, cache, warm, n_pes=2, text=PROGRAM, **env):
    """As ``job``: only the program's own kernels, which are others, have to be compiled."""
    return job(tmp_path, cache, factor=4, n_pes=n_pes, text=text, PENNYMPI_CACHE_SHARED=str(warm), **env)


@pytest.fixture
def copied(warm, tmp_path):
    return Path(shutil.copytree(warm, tmp_path / "cache"))


def test_a_second_process_loads(tmp_path, copied):
    before = files(copied)
    assert len(before) > 10
    assert not [path for path in before if path.suffix], "a lock or a part was left"
    assert job(tmp_path, copied).strip() == ""
    assert files(copied) == before, "a second process wrote files"
    job(tmp_path, copied, factor=4)  # the program checks that it did not get the old text's machine code
    assert set(files(copied)) > set(before)


def test_a_folder_that_can_not_be(tmp_path, warm):
    occupied = tmp_path / "occupied"
    occupied.write_text("a file, so nothing can be below it")
    output = short_job(tmp_path, occupied / "cache", warm)
    assert output.count("UserWarning: compiled kernels are not kept in") == 1, output
    assert f"{occupied}/cache: Not a directory; set PENNYMPI_CACHE_DIR to a folder that you can write" in output


def test_without_a_home(tmp_path, warm):
    output = short_job(tmp_path, "", warm, n_pes=1, HOME="/proc/none", XDG_CACHE_HOME="")
    assert output.count("UserWarning: compiled kernels are not kept in /proc/none/.cache/pennympi") == 1, output


def test_a_disk_that_becomes_full(tmp_path, warm):
    """The limit of a file's size stands for the disk: a part is written, and then no more."""
    cache, begin = tmp_path / "cache", "with pennympi.init() as team:\n"
    limit = "    import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (512, 512))\n"
    output = short_job(tmp_path, cache, warm, text=PROGRAM.replace(begin, begin + limit))
    assert output.count("UserWarning: compiled kernels are not kept in") == 1 and "File too large" in output, output
    assert not [path for path in files(cache) if path.suffix], "a lock or a part was left"


def test_a_folder_that_others_may_write_is_not_used(tmp_path, copied, warm):
    copied.chmod(0o777)
    before = files(copied)
    output = short_job(tmp_path, copied, warm)
    assert output.count("UserWarning") == 1, output
    assert f"other users may write to {copied} (mode 777); remove it, or chmod -R go-w {copied}" in output
    assert files(copied) == before


class Planted:
    """Runs when it is unpickled."""

    def __init__(self, marker):
        self.marker = marker

    def __reduce__(self):
        return os.mkdir, (str(self.marker),)


def test_whatever_lies_in_the_cache_is_not_run_and_the_results_are_right(tmp_path, copied):
    """Pickles, other kernels, links, and every kind of damage in the place of kernels."""
    marker, victim = tmp_path / "planted", tmp_path / "victim"
    victim.write_text("of the victim")
    good = {path: path.read_bytes() for path in sorted(files(copied))}
    places = list(good)
    for k, path in enumerate(places):
        data = good[path]
        path.unlink()
        match k % 6:
            case 0:
                path.write_bytes(pickle.dumps(Planted(marker)) * 3)
            case 1:
                path.write_bytes(good[places[k - 1]])
            case 2:
                path.symlink_to(victim)
            case 3:
                path.write_bytes(data[: len(data) // 2])
            case 4:
                path.mkdir()
            case 5:
                path.write_bytes(data[:-1000] + bytes([data[-1000] ^ 1]) + data[-999:])
    for path in places[:3]:
        path.with_suffix(".lock").symlink_to(victim)
    assert "Warning" not in job(tmp_path, copied)
    assert not marker.exists(), "a pickle was loaded"
    assert victim.read_text() == "of the victim"
    whole = files(copied)
    assert set(places) <= set(whole)
    assert "Warning" not in job(tmp_path, copied)
    assert {path: whole[path] for path in places} == {path: files(copied)[path] for path in places}


def test_another_cache_is_read_by_permission(tmp_path, copied):
    before = files(copied)
    for path in [copied, *copied.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)
    own = tmp_path / "own"
    assert "Warning" not in job(tmp_path, own, PENNYMPI_CACHE_SHARED=str(copied))
    assert not files(own) and files(copied) == before
    job(tmp_path, own, factor=4, PENNYMPI_CACHE_SHARED=str(copied))
    assert len(files(own)) == 2 and files(copied) == before, "what it lacks is not kept in the usual place"
    copied.chmod(0o777)
    most = Path(shutil.copytree(copied, tmp_path / "most"))
    most.chmod(0o755)
    for path in [path for path in files(most) if "twice" in path.name]:
        path.unlink()
    output = job(tmp_path, most, PENNYMPI_CACHE_SHARED=str(copied))
    assert (
        output.count(f"UserWarning: kernels are not taken from {copied}: other users may write to {copied} (mode 777)")
        == 1
    )
    assert len(files(most)) == len(before), "kernels were taken from there"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The folder that holds the entries of a cache of its own."""
    monkeypatch.setenv("PENNYMPI_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(cache, "_told", set())
    monkeypatch.setattr(cache, "_tells", None)
    return tmp_path / "cache" / cache.sources_digest()


def made(*facts, label="one", content=b"machine code of "):
    """(what the cache gives, whether it was made)"""
    runs = []

    def make():
        runs.append(1)
        return content + "".join(facts).encode()

    return cache.made_once(label, facts, make), bool(runs)


def test_damage_of_any_byte_is_repaired(folder, recwarn):
    content, new = made("a")
    assert new and made("a") == (content, False)
    (path,) = folder.iterdir()
    data = path.read_bytes()
    for i in range(len(data)):
        for damaged in (data[:i], data[:i] + bytes([data[i] ^ 4]) + data[i + 1 :], data[:i] + data[i + 1 :]):
            path.write_bytes(damaged)
            assert made("a") == (content, True)
            assert made("a") == (content, False)
    path.write_bytes(data + b"more")
    assert made("a") == (content, True)
    assert path.read_bytes() == data and [one.name for one in folder.iterdir()] == [path.name]
    assert not recwarn


def test_entries_that_change_places_are_made_anew(folder):
    made("a"), made("b")
    one, two = folder.iterdir()
    first, second = one.read_bytes(), two.read_bytes()
    one.write_bytes(second)
    two.write_bytes(first)
    assert made("a") == (b"machine code of a", True) and made("b") == (b"machine code of b", True)
    assert (one.read_bytes(), two.read_bytes()) == (first, second)


def test_a_name_can_be_any_text(folder):
    assert made("a", label="../../x y/<locals>" * 20)[1]
    (path,) = folder.iterdir()
    assert path.parent == folder and len(path.name) < 200


def test_the_lock_of_a_dead_process_is_free_and_a_stopped_one_is_not_waited_for(folder, monkeypatch):
    monkeypatch.setenv("PENNYMPI_TIMEOUT_S", "2")
    made("a")
    (path,) = folder.iterdir()
    path.unlink()
    lock = path.with_name(path.name + ".lock")
    holder = f"""
import fcntl, os
fcntl.flock(os.open({str(lock)!r}, os.O_RDWR | os.O_CREAT), fcntl.LOCK_EX)
print(1, flush=True)
input()
"""
    with subprocess.Popen([sys.executable, "-c", holder], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        begin = time.monotonic()
        assert made("a")[1]
        assert 0.9 < time.monotonic() - begin < 1.9
        path.unlink()
        process.kill()
    begin = time.monotonic()
    assert made("a")[1]
    assert time.monotonic() - begin < 0.5 and not lock.exists()


def test_many_processes_make_it_once(folder):
    program = """
import os, sys, time
from pennympi.compile import cache
def make():
    os.write(1, b"made")
    time.sleep(0.5)
    return b"code"
assert cache.made_once("one", ("fact",), make) == b"code"
"""
    command = [sys.executable, "-c", program]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT) for _ in range(4)]
    assert b"".join(process.communicate(timeout=60)[0] for process in running) == b"made"
    assert len(list(folder.iterdir())) == 1


def test_a_compiler_that_fails_leaves_nothing(folder):
    with pytest.raises(ZeroDivisionError):
        cache.made_once("one", ("a",), lambda: bytes(1 // 0))
    assert not list(folder.iterdir())


@pytest.mark.parametrize("tells", [True, False])
def test_one_process_of_a_node_warns_once(folder, tmp_path, tells, recwarn):
    (tmp_path / "cache").write_text("a file")
    cache.tell_from_here(tells)
    assert made("a")[1] and made("a")[1] and made("b")[1]
    assert len(recwarn) == tells


def test_without_a_home_folder(monkeypatch, folder, recwarn):
    monkeypatch.delenv("PENNYMPI_CACHE_DIR")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.setattr(pwd, "getpwuid", lambda uid: {}[uid])
    assert made("a")[1]
    assert "not kept in /dev/null/no home folder" in str(recwarn[0].message)


def test_the_digest_covers_all_that_the_backends_import():
    """Whatever a backend imports, directly or over others, machine code may be made from."""
    graph = grimp.build_graph("pennympi", exclude_type_checking_imports=True)
    imported = set().union(*(graph.find_upstream_modules(f"pennympi.{backend}", True) for backend in ("host", "cuda")))
    digested = {path.relative_to(cache.LIBRARY) for pattern in cache.SOURCES for path in cache.LIBRARY.glob(pattern)}
    modules = {".".join(("pennympi", *path.with_suffix("").parts)).removesuffix(".__init__") for path in digested}
    assert "pennympi.job.control" in imported <= modules
    assert {path.relative_to(cache.LIBRARY) for path in (cache.LIBRARY / "kernels").rglob("*.py")} <= digested


def test_other_sources_and_facts_give_other_files(tmp_path, monkeypatch, folder):
    library = tmp_path / "library"
    sources = [library / pattern.replace("*", "one") for pattern in (*cache.SOURCES, "bench/*.py", "cuda/*.txt")]
    for source in sources:
        source.parent.mkdir(parents=True, exist_ok=True)
        source.write_text("x = 1\n")
    monkeypatch.setattr(cache, "LIBRARY", library)
    digest = cache.sources_digest.__wrapped__
    monkeypatch.setattr(cache, "sources_digest", digest)
    assert made("numba 1")[1] and not made("numba 1")[1]
    assert all(made(*facts)[1] for facts in (("numba 2",), (), ("numba 1", "cuda 1")))
    first, others = digest(), set()
    for source in sources[:-2]:
        source.write_text("x = 2\n")
        others.add(digest())
        assert made("numba 1")[1]
        source.write_text("x = 1\n")
    assert len(others) == len(cache.SOURCES) and first not in others
    for source in sources[-2:]:  # machine code is not made from these
        source.write_text("x = 2\n")
    assert digest() == first and not made("numba 1")[1]
    monkeypatch.setattr(cache.platform, "python_version", lambda: "3.99")
    assert made("numba 1")[1]
