"""The node's table: all PEs of the node read what a PE writes about itself.

Every test gathers what the PEs saw and asserts it on all of them, so that no PE waits for a PE that failed.
"""

import os
import signal
import subprocess
import time
from contextlib import contextmanager
from types import SimpleNamespace

import pytest
from mpi4py import MPI

from pennympi.job import liveness
from pennympi.job.control import Control, tag_of
from pennympi.job.process import process_state, this_process

pytestmark = pytest.mark.mpi
WORLD = MPI.COMM_WORLD
ME, N_PES = WORLD.Get_rank(), WORLD.Get_size()


@contextmanager
def control_over(comm=WORLD, node=None):
    """node: the node that this PE reports; None: its real node."""
    own = this_process()
    processes = comm.allgather(own if node is None else own._replace(node=node))
    control = Control(comm.Get_rank(), processes, comm.allgather)
    try:
        yield control
    finally:
        control.close()


def seen(look):
    """The value of look() on every PE, after all PEs have written and before any PE writes again."""
    WORLD.Barrier()
    return WORLD.allgather(look())


def every_pe(look):
    """[look(0), look(1), ...] on every PE."""
    return seen(lambda: [look(pe) for pe in range(N_PES)])


def test_a_process_that_is_stopped_or_gone_is_told_from_one_that_waits():
    """A child acts as the PE's process: stopped, ended but not waited for, and gone."""
    with control_over() as control:
        child = subprocess.Popen(["sleep", "100"])
        control.processes[ME] = this_process()._replace(pid=child.pid)
        messages, end = [], time.monotonic() + 5
        for kill, state in ((signal.SIGSTOP, "T"), (signal.SIGKILL, "Z")):
            child.send_signal(kill)
            while process_state(child.pid) != state and time.monotonic() < end:
                time.sleep(0.01)
            messages.append(control.describe(ME))
        child.wait()
        messages.append(control.describe(ME))
        ends = [f"PE {ME} (process {child.pid}) {what} after no call yet" for what in ("is stopped", *["has ended"] * 2)]
        assert all(seen(lambda: messages == ends))


def test_signs_of_life_go_to_all_tables_of_a_process_and_never_back():
    with control_over() as first, control_over() as second:
        mine = time.monotonic_ns() + 10**6 * (ME + 1)
        for shown_ns in (mine, mine - 10**5):
            liveness.show_alive(shown_ns)
        found = every_pe(lambda pe: (first.last_alive_ns(pe), second.last_alive_ns(pe)))
        assert found == [[(shown_ns, shown_ns) for shown_ns in WORLD.allgather(mine)]] * N_PES


class Torn:
    """A PE stores further texts while another PE reads the text of a call, one of them in its place."""

    def __init__(self, control, slot):
        self._control, self._written = control, control._own.texts[slot]

    @property
    def tag(self):
        return self._written.tag

    @property
    def text(self):
        half = self._written.text[:48]
        for number in range(100):
            self._control.write_down(f"other {number}".ljust(96, "."))
        return half + self._written.text[48:]


def test_a_text_is_read_whole_or_not():
    with control_over() as control:
        text = "one".ljust(96, ".")
        control.enter(text)
        found = [control.find(ME, tag_of(text)), control.call(ME)]
        texts = [Torn(control, slot) for slot in range(len(control._own.texts))]
        control._entries[ME] = SimpleNamespace(progress=control._own.progress, texts=texts)
        found += [control.find(ME, tag_of(text)), control.call(ME)]
        control._entries[ME] = control._own
        assert seen(lambda: found) == [[text, f"{text} (call 1)", None, "a call (call 1)"]] * N_PES


def test_a_table_knows_the_pes_of_its_node_only():
    """The even ranks report one node, and the odd ranks another node."""
    with control_over(node=f"node {ME % 2}") as control:
        control.enter(f"PE {ME}")
        reached = list(range(ME % 2, N_PES, 2))
        others = [pe for pe in range(N_PES) if pe not in reached]
        found = seen(lambda: (control.pes, control.local, control.n_local))
        assert found == [(list(range(pe % 2, N_PES, 2)), pe // 2, len(range(pe % 2, N_PES, 2))) for pe in range(N_PES)]
        assert all(seen(lambda: all(control.call(pe) == f"PE {pe} (call 1)" for pe in reached)))
        assert all(seen(lambda: [pe for pe in range(N_PES) if control.last_alive_ns(pe)] == reached))
        assert all(
            seen(
                lambda: (
                    {control.describe(pe) for pe in others}
                    == {f"PE {pe} is on another node, node {pe % 2}" for pe in others}
                )
            )
        )
        host = f" on node {ME % 2}" if others else ""
        own = f"PE {ME} (process {os.getpid()}{host}) last entered PE {ME} (call 1)"
        assert all(seen(lambda: control.describe(ME) == own))
