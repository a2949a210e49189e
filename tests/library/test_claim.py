"""Who may print why the job ends: one, whoever races for it, and without a call of MPI."""

import threading

import pytest
from mpi4py import MPI

from pennympi.job.control import Control
from pennympi.job.process import this_process

pytestmark = pytest.mark.mpi
ROUNDS, THREADS = 5, 4


def test_one_of_all_threads_and_processes_wins():
    for _ in range(ROUNDS):
        world = MPI.COMM_WORLD
        control = Control(world.Get_rank(), world.allgather(this_process()), world.allgather)
        start, wins = threading.Barrier(THREADS), []

        def race(control=control, start=start, wins=wins):
            start.wait()
            wins.append(control.claim())

        threads = [threading.Thread(target=race) for _ in range(THREADS - 1)]
        for thread in threads:
            thread.start()
        world.Barrier()
        race()
        for thread in threads:
            thread.join()
        assert len(wins) == THREADS and world.allreduce(sum(wins)) == len({process.node for process in control.processes})
        assert not control.claim()  # it is not given back
        world.Barrier()
        control.close()
