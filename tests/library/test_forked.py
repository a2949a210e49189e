"""A forked child has no place in the job: its calls are refused, and its end is not the job's."""

import pytest
from launch import launch
from settled import settled


@pytest.mark.parametrize(("way", "status"), [("exit", 3), ("raise", 1)])
def test_a_forked_child(way, status):
    run = launch(2, "tests/support/programs/forking.py", way, limit_s=120, env=settled(2, PENNYMPI_BACKEND="host"))
    assert run.rc == 0 and not run.left_alive, run.output
    assert run.output.count("child refused 5") == 2 and run.output.count(f"child ended with {status}, {{True}}") == 2
    assert run.output.count("in the child") == (4 if way == "raise" else 0)  # the line of the source, and the error
    assert "Abort" not in run.output and "Fatal" not in run.output
