"""Rows 33 to 37: between hosts of tools/hosts.sh, ranks, hosts and links that fail, and the bytes of interfaces."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from launch import Ended

from . import faults
from .case import Case, Row
from .stage import PROGRAMS, ROOT, Stage, last_words, unexpected

HOSTS = str(ROOT / "tools" / "hosts.sh")
RATE = "1gbit"
ALGORITHM = "recursive_doubling"  # not auto, which goes by what it measures: short deadlines leave no time to compile
LINK_DEADLINE_S, SHORT_DEADLINE_S = 10.0, 4.0  # a link that was down for t is silent for up to 2 t: TCP tries ever later
RANK_FAULTS = ("raise", "exit0", "exit3", "_exit3", "kill", "segv", "term", "stop")


def refused() -> str:
    """Why there are no hosts here, or ""."""
    said = subprocess.run([HOSTS, "1", "true"], capture_output=True, text=True)
    return "" if said.returncode == 0 else said.stderr.strip()[:200]


@dataclass
class OnHosts(Stage):
    """A stage whose jobs run between hosts, struck by programs/on_hosts.py.  n_hosts, strike: as that takes it"""

    n_hosts: int = 2
    strike: str = "none"

    @classmethod
    def of(cls, stage: Stage, n_hosts: int, strike: str = "none") -> OnHosts:
        made = cls(stage.mpi, stage.scale, stage.seed, 0, stage.folder, n_hosts, strike)
        made.random, made.row_ends_s = stage.random, stage.row_ends_s
        made.options = [one for one in stage.options if one != "--oversubscribe"]
        return made

    def job(self, n: int, *args: Any, **more: Any) -> Ended:
        around = [HOSTS, str(self.n_hosts), sys.executable, str(PROGRAMS / "on_hosts.py"), self.strike]
        env = {"SLOTS": str(-(-n // self.n_hosts)), "RATE": RATE, "PENNYMPI_ALLREDUCE": ALGORITHM}
        return super().job(n, *args, around=around, **env, **more)


def left_behind(ended: Ended) -> str:
    """What a job left on a host."""
    found = re.search(r"^left on .*$", ended.output, re.MULTILINE)
    return found[0][:200] if found else ""


def ranks(stage: Stage) -> Iterator[Case]:
    """One rank fails."""
    if why := refused():
        yield Case("a rank", 1, not_run=why)
        return
    for n, n_hosts in ((4, 2), (3, 3)):
        over = OnHosts.of(stage, n_hosts)
        yield from faults.compiled(over, n, ("allreduce", "gather"))
        pairs = [(fault, place) for fault in RANK_FAULTS for place in ("allreduce", "gather")]
        for fault, place in stage.some(pairs, len(pairs)):
            yield struck(over, n, place, fault)


def struck(stage: OnHosts, n: int, place: str, fault: str) -> Case:
    """A fault of the last PE, which is on the last host."""
    pe, host, when, name = n - 1, f"host{stage.n_hosts - 1}", [], f"{fault}, {stage.n_hosts} hosts, {n} PEs"
    inside = fault not in faults.SIGNALS
    act = None if inside else ("ready", faults.from_outside(fault, pe, 0.3, when))
    line = (PROGRAMS / "places.py", place, fault, pe, 0.3)
    ended = stage.job(n, *line, limit_s=45, timeout_s=SHORT_DEADLINE_S, act=act)
    found = re.findall(r"^(?:fault|ended) ([\d.]+)$", ended.output, re.MULTILINE)
    if len(found) < 2:
        return Case(name, 1, f"in {place}: {unexpected(ended, 45)}")
    fault_s, ended.ended = (when[0] if when else float(found[-2])), float(found[-1])
    limit_s, _ = faults.PROMISES[fault]
    slack_s, alone = max(0.0, SHORT_DEADLINE_S + 2 - limit_s), n == stage.n_hosts
    # Who is alone on its host is named by those who wait for it, or, where mpirun is faster, by mpirun, with its host.
    said = rf"PE {{pe}}\b.*{host}|{host}" if alone else rf"PE {{pe}}\b.*{host}"
    failure = faults.judged(ended, fault, pe, fault_s, slack_s, said, stage.n_hosts) or left_behind(ended)
    return Case(name, 1, failure and f"in {place}: {failure}")


def parted(strike: str, n: int, n_hosts: int) -> Any:
    """A row in which a host or its link is gone for good."""

    def run(stage: Stage) -> Iterator[Case]:
        if why := refused():
            yield Case(strike, 1, not_run=why)
            return
        over = OnHosts.of(stage, n_hosts, strike)
        compile_links(over, n)
        for _ in range(stage.times(4)):
            ended = over.job(n, PROGRAMS / "over_links.py", 30, limit_s=60, timeout_s=SHORT_DEADLINE_S)
            yield Case(f"{strike}, {n_hosts} hosts, {n} PEs", 1, ends(ended))

    return run


def compile_links(stage: OnHosts, n: int) -> None:
    """Once without a strike: kernels are compiled, which may take longer than a short deadline."""
    OnHosts.of(stage, stage.n_hosts).job(n, PROGRAMS / "over_links.py", 0.1, limit_s=200, timeout_s=100)


def ends(ended: Ended) -> str:
    """What breaks the promise to end in time, with status, name and nothing left."""
    found = re.search(r"^fault ([\d.]+)$.*^ended ([\d.]+)$", ended.output, re.MULTILINE | re.DOTALL)
    if not found:
        return unexpected(ended, 60)
    left = left_behind(ended)
    took_s, ended = float(found[2]) - float(found[1]), replace(ended, output=ended.output[: found.start(2) - 6])
    if took_s > SHORT_DEADLINE_S + 2:
        return f"mpirun ended after {took_s:.1f} s: {last_words(ended)}"
    if ended.rc == 0:
        return f"status 0: {last_words(ended)}"
    if "host1" not in ended.output:
        return f"does not name host1: {last_words(ended)}"
    return left


def goes_on(stage: Stage) -> Iterator[Case]:
    """Links that are away for a while, or slow."""
    if why := refused():
        yield Case("a link", 1, not_run=why)
        return
    for strike in ("down-2", "slow"):
        for n, n_hosts in ((4, 2), (3, 3)):
            over = OnHosts.of(stage, n_hosts, strike)
            compile_links(over, n)
            for _ in range(stage.times(2)):
                ended = over.job(n, PROGRAMS / "over_links.py", 8, limit_s=90, timeout_s=LINK_DEADLINE_S)
                right = ended.rc == 0 and ", 0 elements wrong" in ended.output
                failure = left_behind(ended) if right else unexpected(ended, 90)
                yield Case(f"{strike}, {n_hosts} hosts, {n} PEs", 1, failure)


def interfaces(stage: Stage) -> Iterator[Case]:
    """What the kernel counts at eth0, and what the library says that it sent."""
    if why := refused():
        yield Case("bytes", 1, not_run=why)
        return
    for n, n_hosts in ((4, 2), (6, 3), (8, 4)):
        ended = OnHosts.of(stage, n_hosts).job(
            n, PROGRAMS / "interfaces.py", limit_s=400, timeout_s=100, PENNYMPI_COUNT_BYTES="1"
        )
        said = re.findall(r"^CARRIED (\{.*\})$", ended.output, re.MULTILINE)
        if not said or ended.rc != 0:
            yield Case(f"{n_hosts} hosts, {n} PEs", 1, unexpected(ended, 400))
        for one in map(json.loads, said):
            yield Case(f"{one['what']}, {n_hosts} hosts, {n} PEs", one["times"], one["wrong"])


LOST = "ended within the deadline + 2 s, non-zero status, the host named, nothing left on the others"
ROWS = [
    Row("33", "between hosts: a PE of another host raises, exits, is killed or stopped, in an AllReduce and in a meeting",
        "as in rows 10 to 12, and its host named; one traceback a host at most, nothing left on any", 150, ranks),
    Row("34", "between hosts: a host vanishes with all that runs there", LOST, 60, parted("vanish", 4, 2)),
    Row("35", "between hosts: the link of a host is down for good", LOST, 60, parted("down", 4, 2)),
    Row("36", "between hosts: a link down for 2 s (deadline 10 s), and one at a hundredth of its speed",
        "no error: the job goes on, every bit right", 150, goes_on),
    Row("37", "between hosts: bytes that the kernel counts at each host's interface, large AllReduces",
        "within 5 % of `team.bytes_sent()`; `multi_ring` and `hierarchical` load all alike", 60, interfaces),
]  # fmt: skip
