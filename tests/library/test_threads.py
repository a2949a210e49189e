"""Threads: calls of two threads on a team at the same time are right or refused; in turns they are right."""

import threading
import time

import numpy as np
import pytest
from on_device import same, write

from pennympi.errors import TwoThreads

pytestmark = pytest.mark.mpi


def together(*programs):
    """Run each program on its own thread at the same time.  Returns the exceptions."""
    errors, start = [], threading.Barrier(len(programs))

    def run(program):
        start.wait()
        try:
            program()
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(program,)) for program in programs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    return errors


def test_one_after_another(team):
    """In turns, each thread after the other has returned."""
    x, turn = team.full(1000, 1, "int64"), [0]
    plan, out = team.plan_allreduce(x, sms=1), team.zeros(1000, "int64")

    def program(mine):
        for step in range(40):
            while turn[0] % 2 != mine:
                time.sleep(1e-5)
            write(x, np.full(1000, step + team.me))
            plan() if mine else team.allreduce(x)
            assert same(x, np.full(1000, step * team.n_pes + sum(range(team.n_pes))))
            team.put(out, x, team.me)
            turn[0] += 1

    assert not together(lambda: program(0), lambda: program(1))


def test_a_call_in_the_midst_of_another_is_refused(team):
    if team._backend.has_streams:
        pytest.skip("a launch returns at once")
    signals, found = team.signals(1), []

    def second():
        deadline = time.monotonic() + 20
        while not team._backend.peers.calls.locked() and time.monotonic() < deadline:
            time.sleep(1e-4)
        for call in (lambda: team.put(x, x, team.me), lambda: team.allreduce(x), lambda: plan()):
            try:
                call()
            except TwoThreads as error:
                found.append(str(error))
        np.asarray(signals)[0] = 1  # the first thread may go on

    x = team.zeros(10, "float32")
    plan = team.plan_allreduce(x)
    assert not together(lambda: team.wait_signal(signals, 1), second)
    assert len(found) == (3 if team.n_pes > 1 else len(found)) and found
    assert all("let one call return before the next begins" in text for text in found)
    assert same(team.allreduce(team.full(10, 1, "int32")), np.full(10, team.n_pes))
