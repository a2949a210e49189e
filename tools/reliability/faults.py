"""Rows 10 to 14: ranks that die, stop, raise or leave at a random moment, a launcher that dies, and no false alarms."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from launch import Ended, _tagged

from .case import Case, Row
from .stage import PROGRAMS, TRACEBACK, Stage, last_words, left

DEADLINE_S = 3.0  # PENNYMPI_TIMEOUT_S of these jobs
PLACES = ("allreduce", "put", "wait_signal", "exchange", "barrier", "empty", "gather", "init", "plan", "mpi", "computing",
          "split", "kernel")  # fmt: skip
ON_GPUS = ("allreduce", "graph", "kernel", "plan", "wait_signal", "empty")
SIGNALS = {"kill": signal.SIGKILL, "segv": signal.SIGSEGV, "term": signal.SIGTERM, "stop": signal.SIGSTOP,
           "interrupt": signal.SIGINT}  # fmt: skip
# Seconds from the fault to the end of the job, and what the output says of the PE {pe} that failed.
PROMISES = {
    "kill": (5.0, r"PE {pe}\b.*SIGKILL"),
    "segv": (5.0, r"PE {pe}\b.*SIGSEGV"),
    "term": (5.0, r"PE {pe}\b.*SIGTERM"),
    "_exit0": (5.0, r"(PE|rank) {pe}\b"),
    "_exit3": (5.0, r"(PE|rank) {pe}\b"),
    "stop": (DEADLINE_S + 2, r"PE {pe}\b.*stopped"),
    "interrupt": (2.0, r"PE {pe}\b"),
    "raise": (2.0, r"PE {pe}\b"),
    "exit0": (2.0, r"PE {pe} left"),
    "exit3": (2.0, r"PE {pe} left"),
    "mpirun": (5.0, ""),
}


def pid_of(process: Any, rank: int) -> int:
    """The process id of one rank of a job that ``launch`` started."""
    tag = re.search(r"LAUNCH_TAG=(\w+)", Path(f"/proc/{process.pid}/environ").read_text())
    for pid in _tagged(tag[1]) if tag else []:
        try:
            environ = "\0" + Path(f"/proc/{pid}/environ").read_text(errors="replace")
        except OSError:
            continue
        if re.search(rf"\0(PMI_RANK|PMIX_RANK|OMPI_COMM_WORLD_RANK)={rank}\0", environ):
            return pid
    raise ProcessLookupError(f"no rank {rank}")


def from_outside(fault: str, rank: int, after_s: float, when: list[float]) -> Callable[[Any], None]:
    """What ``launch`` does at the marker: the fault, after a pause; when: gets its time."""

    def act(process: Any) -> None:
        time.sleep(after_s)
        victim = process.pid if fault == "mpirun" else pid_of(process, rank)
        when.append(time.time())
        os.kill(victim, signal.SIGKILL if fault == "mpirun" else SIGNALS[fault])

    return act


def judged(
    ended: Ended, fault: str, pe: int, fault_s: float, slack_s: float = 0.0, said: str = "", tracebacks: int = 1
) -> str:
    """What breaks the promise of this fault; "" where nothing does.

    said: what the output says instead;  tracebacks: at most, one a host
    """
    limit_s, named = PROMISES[fault]
    named = said or named
    if ended.rc is None:
        return f"hangs: {last_words(ended)}"
    if ended.rc == 0 or re.search(r"^done$", ended.output, re.MULTILINE):
        return f"ended with status {ended.rc}, as if nothing had happened"
    if ended.ended - fault_s > limit_s + slack_s:
        return f"took {ended.ended - fault_s:.1f} s: {last_words(ended)}"
    if named and not re.search(named.format(pe=pe), ended.output):
        return f"does not say {named.format(pe=pe)!r}: {last_words(ended)}"
    if fault == "raise" and "ValueError: broken on purpose" not in ended.output:
        return f"the traceback is lost: {last_words(ended)}"
    if (found := ended.output.count(TRACEBACK)) > tracebacks:
        return f"{found} tracebacks"
    return left(ended)


def one(stage: Stage, n: int, place: str, fault: str, slack_s: float = 0.0) -> Case:
    """One job with one fault at a random moment."""
    pe, after_s = stage.random.randrange(n), stage.random.uniform(0.05, 0.6)
    when: list[float] = []
    inside = fault not in SIGNALS and fault != "mpirun"
    act = None if inside else ("ready", from_outside(fault, pe, after_s, when))
    line = (PROGRAMS / "places.py", place, fault, pe, f"{after_s:.3f}")
    ended = stage.job(n, *line, limit_s=45, timeout_s=DEADLINE_S, act=act)
    try:
        fault_s = ended.ended - ended.since("fault") if inside else when[0]
    except (AssertionError, IndexError):
        return Case(f"{fault} in {place}", 1, f"the fault never came: status {ended.rc}, {last_words(ended)}")
    failure = judged(ended, fault, pe, fault_s, slack_s)
    return Case(f"{fault} in {place}", 1, failure and f"PE {pe} of {n}, after {after_s:.2f} s: {failure}")


def compiled(stage: Stage, n: int, places: tuple[str, ...]) -> Iterator[Case]:
    """Each place without a fault: it works, and nothing has to be compiled later."""
    for place in places:
        ended = stage.job(n, PROGRAMS / "places.py", place, limit_s=200, timeout_s=100)
        if ended.rc != 0 or left(ended):
            yield Case(f"no fault in {place}", 1, f"{n} PEs, status {ended.rc}: {left(ended) or last_words(ended)}")


def faults(*kinds: str, whole: int) -> Callable[[Stage], Iterator[Case]]:
    """A row of jobs with these faults, in every place by turns."""

    def run(stage: Stage) -> Iterator[Case]:
        sizes, places = (stage.ranks(), ON_GPUS) if stage.n_gpus else ([2, 4], PLACES)
        order = {fault: stage.random.sample(places, len(places)) for fault in kinds}
        used = {order[fault][number % len(places)] for fault in kinds for number in range(stage.times(whole))}
        yield from compiled(stage, max(sizes), tuple(used) if not stage.n_gpus else places[:1])
        for number in range(max(len(kinds), stage.times(whole))):  # each kind, then each again in another place
            if number < len(kinds) or time.monotonic() < stage.row_ends_s:
                fault = kinds[number % len(kinds)]
                yield one(stage, stage.random.choice(sizes), order[fault][number // len(kinds) % len(places)], fault)

    return run


def no_false_alarms(stage: Stage) -> Iterator[Case]:
    """PEs that are late by 0.8 deadlines, stopped for half of one, or for long where there is no deadline."""
    for n in stage.ranks(2, 4):
        times = stage.times(60)
        ended = stage.job(n, PROGRAMS / "late.py", times, timeout_s=0.5, limit_s=30 + times)
        failure = "" if ended.rc == 0 else f"status {ended.rc}: {last_words(ended)}"
        yield Case(f"0.8 deadlines late, {n} PEs", times, failure or left(ended))
    for timeout_s, pause_s in ((6.0, 3.0), (0.0, 4.0)):
        for place in stage.some(("allreduce", "gather", "mpi", "init"), 4):

            def pause(process: Any, pause_s: float = pause_s) -> None:
                victim = pid_of(process, 1)
                os.kill(victim, signal.SIGSTOP)
                time.sleep(pause_s)
                os.kill(victim, signal.SIGCONT)
                time.sleep(1)
                os.kill(victim, signal.SIGUSR2)  # which ends the loop

            n = max(2, stage.ranks(2)[0])
            ended = stage.job(n, PROGRAMS / "late.py", place, limit_s=40, timeout_s=timeout_s, act=("ready", pause))
            failure = "" if ended.rc == 0 else f"status {ended.rc}: {last_words(ended)}"
            yield Case(f"stopped for {pause_s:g} s, deadline {timeout_s:g} s", 1, failure and f"in {place}: {failure}")


ROWS = [
    Row("10", "kill -9, SIGSEGV, SIGTERM, `_exit(0)` and `_exit(3)` of a random PE at a random moment, in 13 places",
        "non-zero status within 5 s, PE and signal named, one traceback at most, no process and nothing in /dev/shm left",
        500, faults("kill", "segv", "term", "_exit0", "_exit3", whole=200), gpu_s=1800),
    Row("11", "SIGSTOP of a random PE at a random moment, in 13 places",
        "ended within the deadline + 2 s, the stopped PE named, nothing left",
        330, faults("stop", whole=52), gpu_s=700),
    Row("12", "an exception, `sys.exit(0)`, `sys.exit(3)` and SIGINT on a random PE, in 13 places",
        "non-zero status within 2 s, PE named, the traceback of an exception once, nothing left",
        200, faults("raise", "exit0", "exit3", "interrupt", whole=78), gpu_s=800),
    Row("13", "kill -9 of mpirun, in 13 places", "all PEs gone within 5 s, nothing left in /dev/shm",
        80, faults("mpirun", whole=26), gpu_s=250),
    Row("14", "PEs that are late by 0.8 deadlines, stopped for half of one, or for long without a deadline",
        "no error: the job goes on", 90, no_false_alarms),
]  # fmt: skip
