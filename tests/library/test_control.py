"""The node's table: what a PE writes about itself, all PEs of the node read.

Every test gathers what the PEs saw and asserts it on all of them, so that none is left waiting for one that failed.
"""

import ctypes
import os
import signal
import subprocess
import threading
import time
from contextlib import contextmanager
from types import SimpleNamespace

import pytest
from mpi4py import MPI

from pennympi.job import control as table
from pennympi.job import ending, liveness
from pennympi.job.control import Control
from pennympi.job.process import process_state, this_process

pytestmark = pytest.mark.mpi
WORLD = MPI.COMM_WORLD
ME, N_PES = WORLD.Get_rank(), WORLD.Get_size()
NO_PE = N_PES  # no PE of the node


@contextmanager
def control_over(comm=WORLD, node=None):
    """node: where this PE is, as it says; None: where it is."""
    own = this_process()
    processes = comm.allgather(own if node is None else own._replace(node=node))
    control = Control(comm.Get_rank(), processes, comm.allgather)
    try:
        yield control
    finally:
        control.close()


def seen(look):
    """look()'s value on every PE, after all have written and before any writes again."""
    WORLD.Barrier()
    return WORLD.allgather(look())


def every_pe(look):
    """[look(0), look(1), ...], on every PE."""
    return seen(lambda: [look(pe) for pe in range(N_PES)])


def test_calls_are_counted_and_named_for_all():
    with control_over() as control:
        before = control.entered
        for call in range(ME + 1):
            control.enter(f"call {call}")
        control.enter("call 0")  # a name that is known already
        assert every_pe(control.call) == [[f"call 0 (call {pe + 2})" for pe in range(N_PES)]] * N_PES
        assert all(seen(lambda: control.entered > before))


def test_those_who_wait_in_vain_for_a_pe_that_leaves(monkeypatch):
    """PE 1 waits for PE 0, PE 2 for PE 1, and so on; the last of several does not say for whom it waits."""
    whom = [table.NO_PE, *range(N_PES - 1)]
    if N_PES > 2:
        whom[-1] = table.ANY_PE
    with control_over() as control:
        monkeypatch.setattr(table, "BELIEVED_NS", 1 << 62)
        assert all(seen(lambda: whom[ME] == table.NO_PE or control.show_waiting(whom[ME]) is None))
        WORLD.Barrier()
        found = [control.waits_for(pe) for pe in range(1, N_PES)]
        assert seen(lambda: found) == [whom[1:]] * N_PES
        in_vain = sorted({1, N_PES - 1}) if N_PES > 1 else []
        monkeypatch.setattr(control, "waits_for", lambda pe: whom[pe])
        assert seen(lambda: ME > 0 or control.in_vain() == in_vain) == [True] * N_PES
        monkeypatch.undo()
        time.sleep(0.3)
        assert seen(lambda: [control.waits_for(pe) for pe in range(N_PES)]) == [[table.NO_PE] * N_PES] * N_PES


@pytest.mark.mpi(min_size=2)
def test_nobody_reads_half_a_text():
    """PE 0 writes texts of one letter each, as fast as it can, and the others read all the while."""
    with control_over() as control:
        read = set()
        end = time.monotonic() + 1.0
        while time.monotonic() < end:
            if ME == 0:
                for number in range(200):
                    control.enter(chr(ord("a") + number % 26) * (10 + number % 80))
            else:
                read.add(control.call(0).partition(" (")[0])
                read.update(filter(None, (control._text(0, slot) for slot in range(64))))
        mixed = sorted(text for text in read if len(set(text)) > 1 and text not in ("no call yet", "..."))
        assert seen(lambda: mixed) == [[]] * N_PES
        assert all(seen(lambda: ME == 0 or len(read) > 20))


def state_of(child, letters):
    """The state of a process once it is one of these letters, or after five seconds."""
    end = time.monotonic() + 5
    while (state := process_state(child.pid)) not in letters and time.monotonic() < end:
        time.sleep(0.01)
    return state


def test_a_process_that_is_stopped_or_gone_is_told_from_one_that_waits():
    """A child stands for the PE's own process: stopped, ended but not waited for, and gone."""
    with control_over() as control:
        child = subprocess.Popen(["sleep", "100"])
        control.processes[ME] = this_process()._replace(pid=child.pid)
        message = []
        for kill, letters in ((signal.SIGSTOP, "T"), (signal.SIGKILL, "Z")):
            child.send_signal(kill)
            state_of(child, letters)
            message.append(control.describe(ME))
        child.wait()
        message.append(control.describe(ME))
        start = f"PE {ME} (process {child.pid}) "
        ends = ["is stopped after no call yet", "has ended after no call yet", "has ended after no call yet"]
        assert all(seen(lambda: message == [start + end for end in ends]))


def test_signs_of_life_go_to_all_tables_of_a_process_and_never_back():
    with control_over() as first, control_over() as second:
        mine = time.monotonic_ns() + 10**6 * (ME + 1)
        for shown_ns in (mine, mine - 10**5):
            liveness.show_alive(shown_ns)
        found = every_pe(lambda pe: (first.last_alive_ns(pe), second.last_alive_ns(pe)))
        times = WORLD.allgather(mine)
        assert found == [[(shown_ns, shown_ns) for shown_ns in times]] * N_PES
        words = every_pe(lambda pe: ctypes.c_int64.from_address(first.last_alive_address(pe)).value)
        assert words == [times] * N_PES


def test_a_table_knows_the_pes_of_its_node_only():
    """The even ranks as on one node, the odd ones as on another."""
    with control_over(node=f"node {ME % 2}") as control:
        control.enter(f"PE {ME}")
        reached = list(range(ME % 2, N_PES, 2))
        others = [pe for pe in range(N_PES) if pe not in reached]
        found = seen(lambda: (control.pes, control.local, control.n_local))
        assert found == [(list(range(pe % 2, N_PES, 2)), pe // 2, len(range(pe % 2, N_PES, 2))) for pe in range(N_PES)]
        assert all(seen(lambda: all(control.call(pe) == f"PE {pe} (call 1)" for pe in reached)))
        assert all(
            seen(
                lambda: (
                    all(control.last_alive_ns(pe) > 0 for pe in reached) and not any(map(control.last_alive_ns, others))
                )
            )
        )
        assert all(
            seen(lambda: all(control.describe(pe) == f"PE {pe} is on another node, node {pe % 2}" for pe in others))
        )
        pids = WORLD.allgather(os.getpid())
        host = f" on node {ME % 2}" if others else ""
        found = seen(lambda: control.describe(ME) == f"PE {ME} (process {pids[ME]}{host}) last entered PE {ME} (call 1)")
        assert all(found)
        if ME % 2:
            control.enter("only on one of the nodes")
        assert seen(control.in_vain) == [[]] * N_PES


def test_one_of_all_threads_and_processes_may_say_why_the_job_ends(monkeypatch):
    """Without a call of MPI."""
    with control_over() as control:
        start, wins = threading.Barrier(4), []
        monkeypatch.setattr(ending, "open_jobs", [SimpleNamespace(control=control)])

        def race():
            start.wait()
            wins.append(ending.claim())

        threads = [threading.Thread(target=race) for _ in range(3)]
        for thread in threads:
            thread.start()
        WORLD.Barrier()
        race()
        for thread in threads:
            thread.join()
        assert sum(seen(lambda: sum(wins))) == len({process.node for process in control.processes})
        assert seen(ending.claim) == [False] * N_PES, "it is not given back"
