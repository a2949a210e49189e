"""The size of the cache: the versions unused for longest go first, beside processes that use them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from launch import ROOT
from mpi4py import MPI

from pennympi.compile import cache

if MPI.COMM_WORLD.Get_size() > 1:
    pytest.skip("these tests need one process", allow_module_level=True)

OLD, OLDER, USED = "0" * 16, "1" * 16, "2" * 16
KIB = 1024


@pytest.fixture
def root(tmp_path, monkeypatch):
    root = tmp_path / "cache"
    monkeypatch.setenv("PENNYMPI_CACHE_DIR", str(root))
    monkeypatch.setattr(cache, "_used", set())
    monkeypatch.setattr(cache, "_told", set())
    return root


def version(root, digest, n_files, hours_ago):
    """A folder of another version with files of 1 KiB, used last so long ago."""
    folder = root / digest
    folder.mkdir(parents=True, mode=0o700)
    for i in range(n_files):
        (folder / f"kernel_{i}").write_bytes(bytes(KIB))
    used_s = folder.stat().st_mtime - 3600 * hours_ago
    os.utime(folder, (used_s, used_s))
    return folder


def made(name, nbytes=KIB):
    """Make an entry of this version whose file has ``nbytes`` bytes."""
    return cache.made_once(name, (name,), lambda: bytes(nbytes - 32))


def own(root):
    return sorted(path.name.split("_")[0] for path in (root / cache.sources_digest()).iterdir())


def test_the_versions_unused_for_longest_go_first(root, monkeypatch, recwarn):
    root.mkdir(mode=0o700)
    version(root, OLD, 3, 2), version(root, OLDER, 3, 5), version(root, USED, 3, 1)
    monkeypatch.setenv("PENNYMPI_CACHE_MAX_BYTES", "8k")
    made("a")
    assert {path.name for path in root.iterdir()} == {OLD, USED, cache.sources_digest()}
    made("b")
    assert (root / OLD).exists(), "8 KiB are not too much"
    made("c")
    assert {path.name for path in root.iterdir()} == {USED, cache.sources_digest()}
    assert own(root) == ["a", "b", "c"] and not recwarn


@pytest.mark.parametrize("limit", ["0", "1g"])
def test_nothing_goes_without_need(root, monkeypatch, limit):
    root.mkdir(mode=0o700)
    version(root, OLD, 3, 1000)
    monkeypatch.setenv("PENNYMPI_CACHE_MAX_BYTES", limit)
    made("a")
    assert len(list((root / OLD).iterdir())) == 3 and own(root) == ["a"]


def test_a_version_that_is_only_loaded_from_is_in_use(root, monkeypatch):
    made("a")
    folder = root / cache.sources_digest()
    os.utime(folder, (1, 1))
    made("a")
    assert folder.stat().st_mtime == 1, "noted once in a process"
    monkeypatch.setattr(cache, "_used", set())
    made("a")
    assert folder.stat().st_mtime > 1


def test_this_versions_oldest_files_go_last_of_all(root, monkeypatch, recwarn):
    monkeypatch.setenv("PENNYMPI_CACHE_MAX_BYTES", "2k")
    for age_s, name in ((300, "a"), (200, "b"), (100, "c")):
        made(name)
        for path in (root / cache.sources_digest()).glob(f"{name}_*"):
            then_s = path.stat().st_mtime - age_s
            os.utime(path, (then_s, then_s))
    assert own(root) == ["b", "c"]
    version(root, OLD, 1, 1)
    made("d")
    assert own(root) == ["c", "d"] and not (root / OLD).exists() and not recwarn


def test_what_is_not_the_caches_stays(root, monkeypatch, tmp_path):
    """Folders of other names, links in a version's place, and where links inside a version lead."""
    root.mkdir(mode=0o700)
    (root / "tuned").mkdir()
    (root / "tuned" / "table.toml").write_bytes(bytes(9 * KIB))
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "file").write_bytes(bytes(9 * KIB))
    (root / OLD).symlink_to(victim)
    (version(root, OLDER, 3, 1) / "link").symlink_to(victim)
    monkeypatch.setenv("PENNYMPI_CACHE_MAX_BYTES", "2k")
    made("a")
    assert {path.name for path in root.iterdir()} == {"tuned", OLD, cache.sources_digest()}
    assert (victim / "file").exists() and (root / "tuned" / "table.toml").exists()


def test_a_version_that_goes_while_its_process_compiles(root, recwarn):
    """The process gets its kernel, says nothing, and keeps the next one."""
    folder = root / cache.sources_digest()

    def make():
        for path in folder.iterdir():
            path.unlink()
        folder.rmdir()
        return b"machine code"

    assert cache.made_once("a", ("a",), make) == b"machine code"
    assert made("b") == bytes(KIB - 32) and own(root) == ["b"] and not recwarn


def test_many_processes_of_two_versions_at_once(root, tmp_path):
    """Each gets what it made, whatever another removes at the moment, and says nothing."""
    program = """
import sys
from pennympi.compile import cache
digest = sys.argv[1] * 16
cache.sources_digest = lambda: digest
for i in range(60):
    content = f"{digest} {i % 20}".encode() * 50
    assert cache.made_once(f"kernel {i % 20}", (str(i % 20),), lambda: content) == content
"""
    env = {**os.environ, "PENNYMPI_CACHE_MAX_BYTES": "12k", "PYTHONPATH": str(ROOT), "PENNYMPI_CACHE_DIR": str(root)}
    command = [sys.executable, "-W", "error::UserWarning", "-c", program]
    running = [
        subprocess.Popen([*command, version], env=env, stderr=subprocess.PIPE, text=True, cwd=tmp_path)
        for version in "abab"
    ]
    assert [process.communicate(timeout=120)[1] for process in running] == [""] * 4
    assert all(process.returncode == 0 for process in running)
    left_bytes = sum(path.stat().st_size for path in Path(root).rglob("*") if path.is_file())
    assert left_bytes <= 12 * KIB + 4 * 2 * KIB, "one file more of each process, at most"
