"""python late.py TIMES: a random PE comes 0.8 deadlines late to an allreduce or a meeting, TIMES times.

python late.py PLACE: places.py's place in a loop until PE 1 gets SIGUSR2; it may be stopped for a while before that.
"""

import os
import random
import signal
import sys
import time

from mpi4py import MPI

import pennympi

world, ends = MPI.COMM_WORLD, []
signal.signal(signal.SIGUSR2, lambda *_: ends.append(1))


def late(times):
    shared, timeout_s = random.Random(times), float(os.environ["PENNYMPI_TIMEOUT_S"])
    with pennympi.init(heap_bytes=16 << 20) as team:
        x = team.full(100, 1, "float32")
        for name in ("auto", "gather") * 2:  # prepared before anybody is late
            team.allreduce(x) if name == "auto" else team.gather(0)
        team.synchronize()
        team.comm.Barrier()
        for _ in range(times):
            victim, meeting = shared.randrange(team.n_pes), shared.random() < 0.3
            if team.me == victim:
                time.sleep(0.8 * timeout_s)
            team.gather(0) if meeting else team.allreduce(x)
            team.synchronize()


def until_told(place):
    with pennympi.init(heap_bytes=16 << 20) as team:
        x = team.full(100, 1, "float32")
        team.allreduce(x)
        team.synchronize()
        team.comm.Barrier()
        if team.me == 1:
            print("ready", flush=True)
        end = False
        while not end:
            if place == "allreduce":
                team.allreduce(x)
                team.synchronize()
            elif place == "init":
                with pennympi.init(team.comm, heap_bytes=1 << 20) as second:
                    second.barrier()
            elif place == "gather":
                team.gather(0)
            end = world.allreduce(len(ends), MPI.MAX) > 0


late(int(sys.argv[1])) if sys.argv[1].isdigit() else until_told(sys.argv[1])
