"""The processes of a job: their nodes, and whether a process is stopped or has ended."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from ..settings import setting

MOST_NAMED = 16  # PEs that a message names together


class Process(NamedTuple):
    """A process of the job.

    node:    the same text for processes that share memory and see one another in /proc
    machine: the same text for processes that share cores and devices
    """

    node: str
    pid: int
    machine: str


def this_process() -> Process:
    """This process.  Its node follows from its host and PID namespace; nodes.py tests which processes share memory."""
    machine = platform.node()
    node = "/".join(filter(None, (machine, setting("PENNYMPI_NODE"))))
    with suppress(OSError), open("/proc/sys/kernel/random/boot_id") as boot:
        machine = boot.read().strip()
        node += f"; {machine}"
    with suppress(OSError):
        node += f"; {os.readlink('/proc/self/ns/pid')}"
    return Process(node, os.getpid(), machine)


def on_host(processes: Sequence[Process], pe: int) -> str:
    """A text such as " on host1"; "" if all processes share a node, or the PE is not among them."""
    several = any(process.node != processes[0].node for process in processes)
    return f" on {processes[pe].node.partition('; ')[0]}" if several and 0 <= pe < len(processes) else ""


def named(processes: Sequence[Process], pe: int) -> str:
    """A text such as "PE 1 (process 17)" or "PE 1 (process 17 on host1)"."""
    return f"PE {pe} (process {processes[pe].pid}{on_host(processes, pe)})"


def pes_in_words(pes: Sequence[int]) -> str:
    """A text such as "PE 0, PE 2 and 3 more"."""
    more = f" and {len(pes) - MOST_NAMED} more" if len(pes) > MOST_NAMED else ""
    return ", ".join(f"PE {pe}" for pe in pes[:MOST_NAMED]) + more


def halted(processes: Sequence[Process], me: int, pe: int) -> str:
    """A text such as "PE 1 (process 17) is stopped"; "" if it runs, or if the node of PE ``me`` does not know."""
    if not processes or processes[pe].node != processes[me].node:
        return ""
    state = process_state(processes[pe].pid)
    text = "is stopped" if state in "Tt" else "has ended" if state in "ZX" else ""
    return text and f"{named(processes, pe)} {text}"


def process_state(pid: int) -> str:
    """The state letter of a process in /proc: T stopped, Z ended, X gone; "?" if it is unknown."""
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(") ")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return "X"
    except OSError:  # this process has no descriptor or no memory left
        return "?"
