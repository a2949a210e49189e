"""python small.py PROGRAM: small programs that fail, or seem to, in ways of their own."""

import os
import sys
import time

from mpi4py import MPI

import pennympi
from pennympi.compile.cache import made_once

world = MPI.COMM_WORLD


def say_fault():
    os.write(1, f"fault {time.time()}\n".encode())


def all_raise():
    """All PEs raise at once."""
    with pennympi.init() as team:
        team.gather(0)
        say_fault()
        raise ValueError(f"broken on PE {team.me}")


def different_waits():
    """Each PE waits for the next one's signal, PE 0 in another call of the same number."""
    team = pennympi.init()
    words = team.signals(1)
    team.gather(0)
    say_fault()
    team._job.control.enter(
        "broadcast" if team.me == 0 else "reduce"
    )  # as if it had sent, and waits for the next message
    team.wait_signal(words, 1, source=(team.me + 1) % team.n_pes)


def halves():
    """Two teams of half the ranks each: one fails while the other waits for it in MPI."""
    half = world.Split(world.Get_rank() % 2)
    with pennympi.init(world), pennympi.init(half) as team:
        team.allreduce(team.zeros(100, "float32"))
        team.synchronize()
        if world.Get_rank() == 3:
            say_fault()
            raise ValueError("broken in one half")
        world.Barrier()


def uninvited():
    """PE 1 never comes to init.  The others listen to any message."""
    world.Irecv(bytearray(4096), MPI.ANY_SOURCE, MPI.ANY_TAG)
    if world.Get_rank() != 1:
        pennympi.init()


def compiling():
    """PE 0 makes something for the cache, which takes it two deadlines, while the others wait for it in a meeting."""
    with pennympi.init() as team:
        if team.me == 0:
            slow_s = 2 * float(os.environ["PENNYMPI_TIMEOUT_S"])
            made_once("slow", (str(time.time()),), lambda: time.sleep(slow_s) or b"made")
        team.gather(team.me)
    print("done")


globals()[sys.argv[1]]()
