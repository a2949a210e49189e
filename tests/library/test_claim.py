"""Who may print why the job ends: one, whoever races for it, and without a call of MPI."""

import threading
from types import SimpleNamespace

import pytest
from mpi4py import MPI

from pennympi.job import ending
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


def test_a_thread_that_ends_the_job_asks_mpi_nothing_but_its_thread_level(team, monkeypatch):
    """What claim, _who and alone take from MPI may be called from any thread, whatever the level."""
    allowed = ("Is_initialized", "Is_finalized", "Query_thread", "THREAD_MULTIPLE")
    job = SimpleNamespace(
        control=SimpleNamespace(set_abort=lambda: None, claim=lambda: True, on_host=lambda pe: " on host1"),
        me=team.me,
        n_pes=team.n_pes,
    )
    monkeypatch.setattr(ending, "MPI", SimpleNamespace(**{name: getattr(MPI, name) for name in allowed}))
    monkeypatch.setattr(ending, "_take_name", lambda: True)
    for jobs, where in (([], ""), ([job], " on host1")):
        monkeypatch.setattr(ending, "open_jobs", jobs)
        assert ending.claim()
        assert ending._who() == f"PE {team.me} of {team.n_pes}{where}"
        assert ending.alone() == (team.n_pes == 1)
