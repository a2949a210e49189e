"""What a job must do in which one PE fails, wherever it is at that moment."""

from launch import TRACEBACK, run_program

DEADLINE_S = 3.0  # PENNYMPI_TIMEOUT_S
PLACES = (
    "collective", "collectives", "plan", "exchange", "put", "solve", "empty", "init", "between", "gather", "mpi",
    "computing", "waiting",
)  # fmt: skip
LEFT_TO_THE_LAUNCHER = ("_exit3", "SIGKILL", "SIGSEGV", "SIGTERM", "SIGINT")
# Seconds from the fault to the end of the job, and whether the output names the PE.
PROMISES = {
    "raise": (2.0, True),
    **dict.fromkeys(LEFT_TO_THE_LAUNCHER, (5.0, False)),
    **dict.fromkeys(("exit0", "exit3", "SIGSTOP"), (DEADLINE_S + 2, True)),  # the others may not be waiting for it
}


def broken(n, where, fault, pe, slack_s):
    """What breaks the promise in a job with one fault; "" if nothing does.  slack_s: what busy cores may take"""
    limit_s, is_named = PROMISES[fault]
    try:
        ended = run_program(n, "struck", where, fault, pe, timeout_s=DEADLINE_S, limit_s=300)
        seconds = ended.since("fault")
    except AssertionError as error:
        return f"hangs, leaves files or processes, or came to no fault: {error}"
    if ended.rc == 0:
        return f"status 0: {ended.output}"
    if seconds > limit_s + slack_s:
        return f"took {seconds:.1f} s: {ended.output}"
    unknown = fault == "SIGSTOP" and where in ("init", "between")  # MPI does not say who has not come
    if is_named and not unknown and f"PE {pe} " not in ended.output:
        return f"does not name PE {pe}: {ended.output}"
    return f"more than one traceback: {ended.output}" if ended.output.count(TRACEBACK) > 1 else ""


def sample(choose, turns):
    """(PEs, place, fault, PE that fails) for each of ``turns``, so that all pairs come in the end."""
    faults, places = choose.sample(list(PROMISES), len(PROMISES)), choose.sample(PLACES, len(PLACES))
    for turn in turns:  # their numbers have no common divisor
        fault, where, n = faults[turn % len(faults)], places[turn % len(places)], choose.randint(2, 8)
        if fault == "SIGSTOP" and where in ("mpi", "computing"):
            where = "gather"  # the library has no deadline where no PE waits in it
        n += n % 2 if where == "exchange" else 0  # in pairs
        yield n, where, fault, choose.randrange(n)
