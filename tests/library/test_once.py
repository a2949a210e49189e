"""What a process makes once, asked for by two threads at the same time: a job whose first calls they make."""

import pytest
from launch import run_program


@pytest.mark.parametrize("node", ["", "node"])
def test_two_threads_begin_at_the_same_time(node):
    """Each on a team of its own.  Machine code that one thread made was freed when the other had made it, too."""
    ended = run_program(2, "first_calls", *filter(None, [node]), timeout_s=20)
    assert ended.rc == 0 and "done" in ended.output, ended.output
