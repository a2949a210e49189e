"""All calls mixed, and a PE that fails at any moment, anywhere."""

import os
import re
import sys
import time

from launch import PROGRAMS, ROOT, TRACEBACK, launch, mpirun, run_program

EVERYTHING = ROOT / "tests" / "soak" / "programs" / "everything.py"
RANK = "${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-$PMIX_RANK}}"
SHAPES = ((4, 4), (3, 3), (4, 2), (2, 2), (6, 3), (2, 1), (5, 5), (8, 4))  # PEs, and PEs of a node
SLACK_S = 2.0  # delays on busy cores
DEADLINE_S = 3.0  # PENNYMPI_TIMEOUT_S
PLACES = (
    "collective", "collectives", "plan", "exchange", "put", "solve", "empty", "init", "between", "gather", "mpi",
    "computing", "waiting",
)  # fmt: skip
# Seconds from the fault to the end of the job, and whether the output names the PE.
PROMISES = {
    "raise": (2.0, True),
    **dict.fromkeys(("_exit3", "SIGKILL", "SIGSEGV", "SIGTERM", "SIGINT"), (5.0, False)),  # the launcher ends the job
    **dict.fromkeys(("exit0", "exit3", "SIGSTOP"), (DEADLINE_S + 2, True)),  # the other PEs may not be waiting for it
}


def test_everything_at_once(turns, end_s, choose, record_property):
    """Calls of all kinds in random order, with PEs that come late, on one node and on two: every result is exact."""
    begin_s, compared = time.monotonic(), 0
    env = {"PYTHONPATH": os.pathsep.join([str(ROOT), str(PROGRAMS.parent)]), "PENNYMPI_BACKEND": "host"}
    for turn in turns:
        seconds = min(max(8.0, (end_s - begin_s) / 4), max(3.0, end_s - time.monotonic() - 3))
        seed, (n, per_node) = choose.randrange(1 << 24), SHAPES[turn % len(SHAPES)]
        node = ["sh", "-c", f'PENNYMPI_NODE=$(({RANK} / {per_node})) exec "$@"', "sh"]
        command = [mpirun(), "-np", str(n), *node, sys.executable]
        ended = launch(n, str(EVERYTHING), str(seconds), str(seed), limit_s=seconds + 300, env=env, command=command)
        what = f"{n} PEs, {per_node} a node, seed {seed}: {ended.output}"
        assert ended.rc == 0 and not ended.left_alive and not ended.left_in_shm, what
        compared += int(re.search(r"^(\d+) compared$", ended.output, re.MULTILINE)[1])
    record_property("results compared", compared)


def test_a_pe_fails(turns, choose, record_property):
    """A PE raises, exits, is killed, interrupted or stopped: the job ends in time and leaves nothing."""
    faults, places, jobs = choose.sample(list(PROMISES), len(PROMISES)), choose.sample(PLACES, len(PLACES)), 0
    for turn in turns:  # the lengths of both lists have no common divisor
        fault, where, n = faults[turn % len(faults)], places[turn % len(places)], choose.randint(2, 8)
        if fault == "SIGSTOP" and where in ("mpi", "computing"):
            where = "gather"  # the library has no deadline where no PE waits in it
        n += n % 2 if where == "exchange" else 0  # PEs exchange in pairs
        pe, (limit_s, is_named) = choose.randrange(n), PROMISES[fault]
        ended = run_program(n, "struck", where, fault, pe, timeout_s=DEADLINE_S, limit_s=300)
        what = f"{fault} in {where}, PE {pe} of {n}: {ended.output}"
        assert ended.rc != 0 and ended.since("fault") <= limit_s + SLACK_S, what
        unknown = fault == "SIGSTOP" and where in ("init", "between")  # MPI does not say which PE is missing
        assert not is_named or unknown or f"PE {pe} " in ended.output, what
        assert ended.output.count(TRACEBACK) <= 1, what
        jobs += 1
    record_property("jobs", jobs)
