"""Compiled kernels on disk: compiled once, loaded afterwards, repaired, and one warning if they can't be kept."""

import os
import pwd
import resource
import subprocess
import sys
import time

import pytest
from launch import ROOT, launch
from limits import limited
from settled import settled

from pennympi.compile import cache

PROGRAM = """
import pennympi
from pennympi.kernels.block import lanes, load, real, store


def scale(ctx, x, n):
    for i in lanes(0, n):
        store(x, i, real({factor}) * load(x, i))


def shift(ctx, x, n):
    for i in lanes(0, n):
        store(x, i, real(1) + load(x, i))


with pennympi.init() as team:
    x = team.full(1000, 1, "float32")
    for kernel in (scale, shift):
        team.kernel(kernel, "float32")(1, x, 1000)
    team.synchronize()
    assert (x == {factor} + 1).all()
"""


def test_a_job_loads_what_another_compiled(tmp_path):
    """Each job checks its results."""
    folder, program = tmp_path / "cache", tmp_path / "program.py"

    def files(factor=2):
        program.write_text(PROGRAM.format(factor=factor))
        ended = launch(2, str(program), env=settled(2, PENNYMPI_CACHE_DIR=str(folder)), limit_s=300)
        assert ended.rc == 0 and "Warning" not in ended.output, ended.output
        return {path: path.stat().st_mtime_ns for path in folder.iterdir()}

    first = files()
    next(folder.glob("*scale*")).write_bytes(next(folder.glob("*shift*")).read_bytes())  # damaged
    repaired = files()
    changed = [path.name for path in first if first[path] != repaired[path]]
    assert set(repaired) == set(first) and len(changed) == 1 and "scale" in changed[0], "a second job wrote other files"
    assert set(files(factor=4)) > set(repaired), "the kernel of another text is another one"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("PENNYMPI_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(cache, "_reports", True)
    yield tmp_path / "cache"
    cache._opened.cache_clear()  # its descriptor may belong to another folder after it is closed
    cache._lock_file.cache_clear()


def cached(*facts, label="one", content=b"machine code of "):
    """(content that the cache returns, whether it was compiled)"""
    runs = []

    def make():
        runs.append(1)
        return content + "".join(facts).encode()

    return cache.made_once(label, facts, make), bool(runs)


def entries(folder):
    return sorted(path for path in folder.iterdir() if path.name != "lock")


def test_the_folder_and_its_files_are_this_users_alone(folder):
    before = os.umask(0)
    try:
        cached("a")
    finally:
        os.umask(before)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert [path.stat().st_mode & 0o777 for path in folder.iterdir()] == [0o600] * 2


def test_damage_of_any_byte_is_repaired(folder, recwarn):
    any_label = "../../x y/<locals>" * 20
    content, new = cached("a", label=any_label)
    assert new and cached("a", label=any_label) == (content, False)
    (path,) = entries(folder)
    data = path.read_bytes()
    assert path.parent == folder and len(path.name) < 200
    for i in range(len(data)):
        for damaged in (data[:i], data[:i] + bytes([data[i] ^ 4]) + data[i + 1 :], data[:i] + data[i + 1 :]):
            path.write_bytes(damaged)
            assert cached("a", label=any_label) == (content, True)
            assert cached("a", label=any_label) == (content, False)
    path.write_bytes(data + b"more")
    assert cached("a", label=any_label) == (content, True)
    (target := folder.parent / "target").write_text("precious")
    path.unlink()
    path.symlink_to(target)
    assert cached("a", label=any_label) == (content, True)
    assert path.read_bytes() == data and entries(folder) == [path] and target.read_text() == "precious"
    assert not recwarn


def test_the_lock_of_a_dead_process_is_free_and_a_stopped_one_is_not_waited_for(folder, monkeypatch, capfd):
    monkeypatch.setenv("PENNYMPI_TIMEOUT_S", "2")
    monkeypatch.setattr(cache, "SILENT_S", 0.3)
    cached("a")
    (path,) = entries(folder)
    path.unlink()
    holder = f"""
import fcntl, os
fcntl.lockf(os.open({str(folder / "lock")!r}, os.O_RDWR), fcntl.LOCK_EX)
print(1, flush=True)
input()
"""
    with subprocess.Popen([sys.executable, "-c", holder], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        capfd.readouterr()
        begin = time.monotonic()
        assert cached("a")[1]
        assert time.monotonic() - begin > 0.9
        assert capfd.readouterr().err == f"pennympi: compiling one; later runs load it from {folder}\n", "while it waits"
        path.unlink()
        process.kill()
    monkeypatch.setenv("PENNYMPI_TIMEOUT_S", "600")
    begin = time.monotonic()
    assert cached("a")[1]
    assert time.monotonic() - begin < 60


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
    assert len(entries(folder)) == 1


def test_a_compiler_that_fails_leaves_nothing(folder):
    with pytest.raises(ZeroDivisionError):
        cache.made_once("one", ("a",), lambda: bytes(1 // 0))
    assert not entries(folder) and cached("a")[1]


def test_a_full_disk_is_a_warning(folder, recwarn):
    """The limit of a file's size acts as a full disk: a part is written, and then no more."""
    with limited(resource.RLIMIT_FSIZE, 512):
        assert cached("a", content=bytes(1000))[1]
    assert not entries(folder) and "File too large" in str(recwarn[0].message)


@pytest.mark.parametrize("reports", [True, False])
def test_one_process_of_a_node_warns_once(folder, reports, recwarn):
    folder.write_text("a file")
    cache.enable_reports(reports)
    assert cached("a")[1] and cached("a")[1] and cached("b")[1]
    assert len(recwarn) == reports
    if reports:
        why = "File exists; set PENNYMPI_CACHE_DIR to a folder that is yours alone"
        assert str(recwarn[0].message) == f"compiled kernels are not kept in {folder}: {why}"


@pytest.mark.parametrize("what", ["others may write", "of another user", "no home"])
def test_a_folder_that_is_not_this_users_alone_is_not_used(folder, recwarn, monkeypatch, what):
    cached("a")
    cache._opened.cache_clear()
    if what == "others may write":
        folder.chmod(0o777)
        why = f"{folder}: other users may write to it (mode 777)"
    elif what == "of another user":
        monkeypatch.setattr(os, "geteuid", lambda: folder.stat().st_uid + 1)
        why = f"{folder}: it belongs to user {folder.stat().st_uid}, not to user"
    else:
        for name in ("PENNYMPI_CACHE_DIR", "XDG_CACHE_HOME", "HOME"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setattr(pwd, "getpwuid", lambda uid: {}[uid])
        why = "/dev/null/no home folder"
    assert cached("a")[1] and f"not kept in {why}" in str(recwarn[0].message)


def test_a_line_names_what_takes_long_to_compile(folder, monkeypatch, capfd):
    """The line comes after a while of compiling, of one kernel or of several."""
    monkeypatch.setattr(cache, "SILENT_S", 0.8)
    monkeypatch.setattr(cache, "_unreported_s", 0.0)
    kept, lines = f"; later runs load it from {folder}", []
    for name, took_s in (("quick", 0.45), ("next", 0.45), ("quick again", 0.4), ("long", 1.2), ("none", 0.0)):
        with cache.numbered(3, 5):
            cache.made_once(name, (name,), lambda took_s=took_s: time.sleep(took_s) or b"", f"kernel_{name}")
        lines.append(capfd.readouterr().err)
    line = "pennympi: compiling kernel_{} (3 of 5)" + kept + "\n"
    assert lines == ["", line.format("next"), "", line.format("long"), ""]


def test_the_digest_covers_all_that_the_backends_import():
    """The digest of sources covers every module that a backend imports, directly or through others."""
    graph = pytest.importorskip("grimp").build_graph("pennympi", exclude_type_checking_imports=True)
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
    monkeypatch.setattr(cache, "sources_digest", cache.sources_digest.__wrapped__)
    assert cached("numba 1")[1] and not cached("numba 1")[1]
    assert all(cached(*facts)[1] for facts in (("numba 2",), (), ("numba 1", "cuda 1")))
    for source in sources[:-2]:
        source.write_text("x = 2\n")
        assert cached("numba 1")[1]
        source.write_text("x = 1\n")
    for source in sources[-2:]:  # machine code does not depend on these sources
        source.write_text("x = 2\n")
    assert not cached("numba 1")[1]
