"""python places.py PLACE [FAULT RANK AFTER_S]: every PE does PLACE in a loop until PE RANK fails, or 20 times.

Without a fault the loop only shows that it works, and compiles.  A fault from outside needs the line "ready" only;
one from inside ("raise", "exit0", "exit3", "_exit0", "_exit3") comes AFTER_S seconds after it, between two turns.
"""

import os
import sys
import time

import numpy as np
from mpi4py import MPI
from on_device import device

import pennympi
from pennympi.kernels.block import put_signal, wait


def around(ctx, inbox, outbox, nbytes, word, value, successor, predecessor):
    """A message to the next PE."""
    put_signal(ctx, inbox, outbox, nbytes, word, value, successor)
    wait(ctx, word, value, predecessor)


def break_on_purpose():
    raise ValueError("broken on purpose")


FAULTS = {
    "raise": break_on_purpose,
    "exit0": lambda: sys.exit(0),
    "exit3": lambda: sys.exit(3),
    "_exit0": lambda: os._exit(0),
    "_exit3": lambda: os._exit(3),
}
place, fault, rank, after_s = [*sys.argv[1:], *["", "-1", "0"][len(sys.argv) - 2 :]][:4]
world = MPI.COMM_WORLD
begin_s, shown = 0.0, False
NO_FAULT_S = 60.0  # after which a job that waits for its fault gives up


def turns():
    """Numbers from 1 on.  All PEs stop at the same one, or fail."""
    global begin_s, shown
    number, begin_s = 0, begin_s or time.monotonic()
    if not shown and world.Get_rank() == max(int(rank), 0):
        print("ready", flush=True)
    shown = True
    while fault or number < 20:
        number += 1
        passed_s = time.monotonic() - begin_s
        if fault and passed_s > NO_FAULT_S:
            sys.exit("no fault came")
        if world.Get_rank() == int(rank) and fault in FAULTS and passed_s > float(after_s):
            print("fault", time.time(), flush=True)
            FAULTS[fault]()
        yield number


def main():
    if place == "init":
        with pennympi.init(heap_bytes=1 << 20) as team:
            team.barrier()
        for _ in turns():
            with pennympi.init(heap_bytes=1 << 20) as team:
                team.barrier()
                team.synchronize()
        return
    with pennympi.init(heap_bytes=64 << 20) as team:
        n, me = team.n_pes, team.me
        right, left = (me + 1) % n, (me - 1) % n
        x, y, words = team.full(1000, 1, "float32"), team.zeros(1000, "float32"), team.signals(2)
        other, plan = device(team, np.ones(1000, np.float32)), team.plan_allreduce(x, y)
        kernel = team.kernel(around, "float32")
        for call in (plan, lambda: team.allreduce(x, y), team.barrier):
            call()
        team.exchange(y, other, me ^ 1 if me ^ 1 < n else me)
        team.synchronize()
        if place == "graph":
            stream = team.stream()
            with stream:
                stream.begin_capture()
                for _ in range(50):
                    plan(stream)
                graph = stream.end_capture()
        team.comm.Barrier()
        for turn in turns():
            if place == "allreduce":
                team.allreduce(x, y)
            elif place == "put":
                for pe in range(n):
                    team.put(y, x, pe)
                team.barrier()
            elif place == "wait_signal":
                team.put_signal(y, x, words[0:1], turn, right)
                team.wait_signal(words[0:1], turn, source=left)
            elif place == "exchange":
                pe = me ^ 1 if me ^ 1 < n else me
                team.exchange(y, other, pe)
                team.barrier()
            elif place == "barrier":
                team.barrier()
            elif place == "empty":
                team.free(team.empty(100, "float32"))
            elif place == "gather":
                team.gather(me)
            elif place == "plan":
                plan()
            elif place == "mpi":
                world.Barrier()
            elif place == "computing":
                if me == int(rank):
                    end = time.monotonic() + 0.05
                    while time.monotonic() < end:
                        np.sort(np.random.default_rng(turn).random(10_000))
                team.allreduce(x, y)
            elif place == "split":
                world.Split(0, me).Free()
            elif place == "kernel":
                kernel(1, y, x, 4000, words, turn, right, left)
            elif place == "graph":
                graph.launch(stream)
            else:
                raise ValueError(f"no place {place!r}")
            team.synchronize()
    if world.Get_rank() == 0:
        print("done")


main()
