"""`pytest --soak MINUTES tests/soak`: minutes of all calls mixed and of faults, from a seed that is printed.

--soak-seed N repeats a run's choices. Without --soak, pytest collects no test here.
"""

import faulthandler
import itertools
import os
import random
import time

import pytest

BEGIN_S = time.monotonic()
ENDS = {"test_everything_at_once": 0.6, "test_a_pe_fails": 1.0}  # where a test's share of the time ends


def pytest_addoption(parser):
    group = parser.getgroup("soak")
    group.addoption("--soak", type=float, default=0, metavar="MINUTES", help="run tests/soak for so long")
    group.addoption("--soak-seed", type=int, default=int.from_bytes(os.urandom(3)), help="repeat a run's choices")


def pytest_ignore_collect(config):
    return not config.getoption("--soak", 0) or None


def pytest_terminal_summary(terminalreporter, config):
    if config.getoption("--soak", 0):
        for report in terminalreporter.getreports("passed"):
            terminalreporter.write_line(f"{report.nodeid}: {dict(report.user_properties)}")
        terminalreporter.write_line(f"soak: repeat it by --soak-seed {config.getoption('--soak-seed')}")


@pytest.fixture
def end_s(request):
    """The time.monotonic() at which this test's share ends.  pytest's own limit for a test is shorter."""
    faulthandler.cancel_dump_traceback_later()
    return BEGIN_S + ENDS[request.function.__name__] * 60 * request.config.getoption("--soak")


@pytest.fixture
def turns(end_s):
    """Numbers from 0 on until this test's share ends; at least one number."""
    return itertools.takewhile(lambda number: not number or time.monotonic() < end_s, itertools.count())


@pytest.fixture
def choose(request):
    """Random choices that depend only on the seed and the test."""
    return random.Random(f"{request.config.getoption('--soak-seed')} {request.function.__name__}")
