"""A PE fails, at any moment, anywhere."""

from jobs import last_words
from launch import TRACEBACK, run_program

DEADLINE_S, SLACK_S = 3.0, 2.0  # PENNYMPI_TIMEOUT_S, and what busy cores may take
PLACES = ("collective", "plan", "exchange", "put", "empty", "init", "between", "gather", "mpi", "computing", "waiting")
# Seconds from the fault to the end of the job, and whether the output names the PE.
PROMISES = {
    "raise": (2.0, True),
    **dict.fromkeys(("_exit3", "SIGKILL", "SIGSEGV", "SIGTERM", "SIGINT"), (5.0, False)),
    **dict.fromkeys(("exit0", "exit3", "SIGSTOP"), (DEADLINE_S + 2, True)),  # the others may not be waiting for it
}


def broken(n, where, fault, pe):
    """What breaks the promise in a job with one fault; "" if nothing does."""
    limit_s, is_named = PROMISES[fault]
    try:
        ended = run_program(n, "struck", where, fault, pe, timeout_s=DEADLINE_S, limit_s=60)
        seconds = ended.since("fault")
    except AssertionError as error:
        return f"hangs, leaves something behind, or came to no fault: {error}"
    if ended.rc == 0:
        return f"status 0: {last_words(ended)}"
    if seconds > limit_s + SLACK_S:
        return f"took {seconds:.1f} s: {last_words(ended)}"
    unknown = fault == "SIGSTOP" and where in ("init", "between")  # MPI does not say who has not come
    if is_named and not unknown and f"PE {pe} " not in ended.output:
        return f"does not name PE {pe}: {last_words(ended)}"
    return f"more than one traceback: {ended.output}" if ended.output.count(TRACEBACK) > 1 else ""


def test_a_pe_fails(turns, row, choose):
    """A PE raises, exits, is killed, interrupted or stopped: in 11 places, at a random moment

    the job ends with a status that is not 0, within seconds, or within the deadline if a PE left, or was stopped where
    others wait for it; a PE that raised, left or was stopped is named, but for one that is stopped in `init`; one
    traceback at most; no process is left, and nothing of the library in /dev/shm
    """
    faults, places = choose.sample(list(PROMISES), len(PROMISES)), choose.sample(PLACES, len(PLACES))
    for turn in turns:  # their numbers have no common divisor, so that all pairs come
        fault, where, n = faults[turn % len(faults)], places[turn % len(places)], choose.choice((2, 4))
        if fault == "SIGSTOP" and where in ("mpi", "computing"):
            where = "gather"  # the library has no deadline where nobody waits in it
        pe = choose.randrange(n)
        failure = broken(n, where, fault, pe)
        row.count(failure and f"{fault} in {where}, PE {pe} of {n}: {failure}")
    assert not row.failures
