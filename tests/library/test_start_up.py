"""What a start costs, and what is said while it takes long: the library's timings, and lines about compiling."""

import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import pennympi
from pennympi.compile import announce
from pennympi.wall_time import timed

ROOT = Path(__file__).resolve().parents[2]


def test_the_parts_of_the_wall_time_do_not_overlap():
    before = pennympi.timings()
    with timed("test: outer"):
        time.sleep(0.02)
        with timed("test: inner"):
            time.sleep(0.05)
        with timed("test: inner"):
            pass
    spent = {part: s - before.get(part, 0.0) for part, s in pennympi.timings().items()}
    assert 0.05 <= spent["test: inner"] < 0.5
    assert 0.02 <= spent["test: outer"] < 0.05 + 0.5
    assert spent["test: outer"] < spent["test: inner"] + 0.4
    names = list(spent)
    assert names.index("test: outer") < names.index("test: inner"), "listed as they began"


def test_a_thread_has_parts_of_its_own():
    done = threading.Event()

    def beside():
        with timed("test: beside"):
            time.sleep(0.05)
        done.set()

    before = pennympi.timings().get("test: around", 0.0)
    with timed("test: around"):
        threading.Thread(target=beside).start()
        assert done.wait(10)
    assert pennympi.timings()["test: around"] - before >= 0.05, "another thread's part was taken off"


def test_a_part_that_raises_counts():
    with pytest.raises(KeyError), timed("test: raises"):
        time.sleep(0.01)
        raise KeyError
    assert pennympi.timings()["test: raises"] >= 0.01
    with timed("test: after it"):
        time.sleep(0.01)
    assert pennympi.timings()["test: after it"] >= 0.01


@pytest.fixture
def quick(monkeypatch):
    """Lines come after 0.05 s of compiling."""
    monkeypatch.setattr(announce, "QUIET_S", 0.05)
    monkeypatch.setattr(announce, "_speaks", True)
    monkeypatch.setattr(announce, "_silent_s", 0.0)
    monkeypatch.setattr(announce, "_begun", 0)


def compile_for(seconds, label="two_shot"):
    with announce.announced(label):
        time.sleep(seconds)


def test_a_long_compilation_says_what_is_compiled(quick, capsys):
    compile_for(0.0, "short")
    compile_for(0.3)
    said = capsys.readouterr().err
    assert said == "pennympi: compiling kernel 2, two_shot (later runs take it from the cache)\n"


def test_many_short_compilations_say_so_now_and_then(quick, capsys):
    for number in range(12):
        compile_for(0.015, f"kernel{number}")
    lines = capsys.readouterr().err.splitlines()
    assert 1 <= len(lines) <= 6, lines
    assert all(re.match(r"pennympi: compiling kernel \d+, kernel\d+ ", line) for line in lines)


def test_time_without_compiling_does_not_count(quick, capsys):
    compile_for(0.0)
    time.sleep(0.1)
    compile_for(0.0)
    assert not capsys.readouterr().err


def test_only_one_process_of_a_node_speaks(quick, capsys):
    announce.announce_from_here(False)
    compile_for(0.2)
    assert not capsys.readouterr().err


def test_a_label_may_be_long(quick, capsys):
    compile_for(0.2, "x" * 500)
    assert len(capsys.readouterr().err) < 160


LOADED = """
import sys
from pennympi.compile.cache import made_once
import pennympi
made_once("a", ("b",), lambda: b"c")
print(sorted(pennympi.timings()))
print([name for name in ("numba", "h5py", "matplotlib", "tqdm", "llvmlite") if name in sys.modules])
"""


def test_importing_the_library_loads_no_compiler(tmp_path):
    env = {"PATH": "/usr/bin:/bin", "PENNYMPI_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": str(ROOT)}
    ended = subprocess.run([sys.executable, "-c", LOADED], env=env, cwd=ROOT, capture_output=True, text=True, timeout=60)
    parts, modules = ended.stdout.splitlines()
    assert parts == "['kernels: compiled', 'kernels: compiled by another process', 'kernels: found on disk']", ended
    assert modules == "[]"


def test_nvshmem_is_started_without_importing_pytorch():
    """``nvshmem.core`` imports PyTorch wherever it is installed."""
    for source in ROOT.glob("pennympi/cuda/*.py"):
        code = [line.split("#")[0] for line in source.read_text().splitlines()]
        assert not [line for line in code if re.search(r"(from|import) nvshmem\.core", line)], source
