"""`pytest --soak MINUTES tests/soak`: minutes of faults, damage and everything at once, from a seed that is printed.

--soak-seed N repeats a run's choices; --soak-out FILE.json writes what was tried, from which page.py makes a document.
Without --soak nothing here is collected.
"""

import faulthandler
import itertools
import json
import os
import platform
import random
import subprocess
import time
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path

import pytest
from mpi4py import MPI

ROOT, BEGIN_S = Path(__file__).resolve().parents[2], time.monotonic()
# The test that a part of the time goes to, and where that part ends.
ENDS = {"everything_at_once": 0.4, "a_pe_fails": 0.7, "damaged_kernels": 0.82, "damaged_files": 0.92, "a_full_disk": 1.0}


@dataclass
class Row:
    """What came of one test: how often a thing was tried, and what failed."""

    tried: str
    promise: str
    times: int = 0
    failures: list[str] = field(default_factory=list)

    def count(self, failure: str = "", times: int = 1) -> None:
        """Count what was tried.  failure: what was seen instead of the promise; "" if it held"""
        self.times += times
        if failure:
            self.failures.append(failure[:1000])


def pytest_addoption(parser):
    group = parser.getgroup("soak")
    group.addoption("--soak", type=float, default=0, metavar="MINUTES", help="run tests/soak for so long")
    group.addoption("--soak-seed", type=int, default=int.from_bytes(os.urandom(3)), help="repeat a run's choices")
    group.addoption("--soak-out", type=Path, metavar="FILE.json", help="where to write what was tried")


def pytest_ignore_collect(config):
    return not config.getoption("--soak", 0) or None


def pytest_terminal_summary(terminalreporter, config):
    if config.getoption("--soak", 0):
        terminalreporter.write_line(f"soak: repeat it by --soak-seed {config.getoption('--soak-seed')}")


@pytest.fixture(scope="session")
def rows(request):
    """The rows of all tests; written when the session ends."""
    found: list[Row] = []
    yield found
    minutes, seed, out = (request.config.getoption(name) for name in ("--soak", "--soak-seed", "--soak-out"))
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout
    vendor, number = MPI.get_vendor()
    record = {
        "mpi": f"{vendor} {'.'.join(map(str, number))}", "python": platform.python_version(), "numpy": version("numpy"),
        "numba": version("numba"), "system": f"Linux {platform.release()}", "cores": os.cpu_count(),
        "commit": commit.strip(), "date": time.strftime("%Y-%m-%d"), "minutes": minutes, "seed": seed,
        "rows": [asdict(row) for row in found],
    }  # fmt: skip
    if out:
        out.write_text(json.dumps(record, indent=1) + "\n")


@pytest.fixture
def row(request, rows):
    """The row of this test: its docstring says what is tried, and what is promised."""
    tried, promise = (" ".join(part.split()) for part in request.function.__doc__.split("\n\n"))
    rows.append(Row(tried, promise))
    return rows[-1]


@pytest.fixture
def end_s(request):
    """The time.monotonic() at which the part of this test ends.  pytest's own limit for a test is shorter."""
    faulthandler.cancel_dump_traceback_later()
    share = ENDS[request.function.__name__.removeprefix("test_")]
    return BEGIN_S + share * 60 * request.config.getoption("--soak")


@pytest.fixture
def turns(end_s):
    """Numbers from 0 on until the part of this test ends; one at least."""
    return itertools.takewhile(lambda number: not number or time.monotonic() < end_s, itertools.count())


@pytest.fixture
def choose(request):
    """Random choices that depend on the seed and the test alone."""
    return random.Random(f"{request.config.getoption('--soak-seed')} {request.function.__name__}")
