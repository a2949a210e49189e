"""The tests say how far they are."""

import pytest
import run_tests


@pytest.fixture
def clock(monkeypatch):
    """A clock that a test sets: clock[0] is the time in s."""
    now = [100.0]
    monkeypatch.setattr(run_tests.time, "monotonic", lambda: now[0])
    return now


def test_the_tests_say_how_far_they_are(clock, capsys, tmp_path):
    output = tmp_path / "rank0.txt"
    shown = run_tests.Shown("np 4", output)
    for number in range(1, 36):
        output.write_text("." * 72 + f" [{2 * number:3d}%]\n" + "." * 30)
        clock[0] += 1.0
        shown.show()
    shown.clear()
    assert capsys.readouterr().err.splitlines() == [
        "np 4: 102 tests done (20 %) after 10 s",
        "np 4: 102 tests done (40 %) after 20 s",
        "np 4: 102 tests done (60 %) after 30 s",
    ]
