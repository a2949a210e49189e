"""A PE fails, at any moment, anywhere."""

from faults import broken, sample

SLACK_S = 2.0


def test_a_pe_fails(turns, row, choose):
    """A PE raises, exits, is killed, interrupted or stopped: in 13 places, at a random moment

    the job ends with a status that is not 0, within seconds, or within the deadline if a PE left, or was stopped where
    others wait for it; a PE that raised, left or was stopped is named, but for one that is stopped in `init`; one
    traceback at most; no process is left, and nothing of the library in /dev/shm
    """
    for n, where, fault, pe in sample(choose, turns):
        failure = broken(n, where, fault, pe, SLACK_S)
        row.count(failure and f"{fault} in {where}, PE {pe} of {n}: {failure}")
    assert not row.failures
