"""What long commands show on stderr: a bar on a terminal, else a line now and then."""

import io
import re
import sys

import pytest
import run_tests

from pennympi.bench import progress
from pennympi.bench.progress import Progress


class Terminal(io.StringIO):
    """A stderr that is a terminal."""

    def isatty(self):
        return True


@pytest.fixture
def clock(monkeypatch):
    """A clock that a test sets: clock[0] is the time in s."""
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def test_lines_without_a_terminal(clock, capsys):
    shown = Progress(10, True)
    for number in range(10):
        shown.step(f"size {number}")
        clock[0] += 2.0
    shown.close()
    assert capsys.readouterr().err.splitlines() == [
        "pennympi: 2 of 10 done, about 16 s left: size 2",
        "pennympi: 4 of 10 done, about 12 s left: size 4",
        "pennympi: 6 of 10 done, about 8 s left: size 6",
        "pennympi: 8 of 10 done, about 4 s left: size 8",
    ]


def test_short_commands_and_those_with_output_show_nothing(clock, capsys):
    shown = Progress(3, True)
    for _ in range(3):
        shown.step("soon done")
        clock[0] += 0.9
    long = Progress(9, True)
    for _ in range(9):
        long.step("a size")
        clock[0] += 2.9
        long.clear()  # a line of results is printed now
    assert capsys.readouterr().err == ""


def test_only_one_pe_shows_it(clock, capsys):
    shown = Progress(9, False)
    for _ in range(9):
        shown.step("a size")
        clock[0] += 5
    assert capsys.readouterr().err == ""


def test_a_bar_on_a_terminal(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(progress, "QUIET_S", 1e-9)
    shown = Progress(4, True)
    for number in range(4):
        shown.step(f"size {number}")
        shown._bar.refresh()
    shown.clear()
    shown.close()
    drawn = terminal.getvalue()
    assert re.search(r" 25%\|.*1/4 .*size 1", drawn) and "pennympi:" not in drawn
    assert "\n" not in drawn, "and it leaves nothing behind"


def test_the_tests_say_how_far_they_are(clock, capsys, tmp_path):
    output = tmp_path / "rank0.txt"
    shown = run_tests.Shown("np 4", output)
    for number in range(1, 36):
        output.write_text("." * 72 + f" [{2 * number:3d}%]\n" + "." * 30)
        clock[0] += 1.0
        shown.show()
    shown.clear()
    assert capsys.readouterr().err.splitlines() == [
        "np 4: 20 % of the tests done after 10 s",
        "np 4: 40 % of the tests done after 20 s",
        "np 4: 60 % of the tests done after 30 s",
    ]
