"""What a process makes once, asked for by two threads at the same time: a job whose first calls they make."""

import pytest
from pooled_jobs import job


@pytest.mark.parametrize(
    "nodes",
    [pytest.param(1, marks=job(2, "first_calls", 20)), pytest.param(2, marks=job(2, "first_calls node", 20))],
)
def test_two_threads_begin_at_the_same_time(ended, nodes):
    """Each on a team of its own.  Machine code that one thread made was freed when the other had made it, too."""
    assert ended.rc == 0 and "done" in ended.output, ended.output
