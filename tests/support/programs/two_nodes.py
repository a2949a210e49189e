"""PEs of one host as two nodes: what messages between nodes have to keep, each with a line when it held."""

import os
import sys
import time

import numpy as np
from mpi4py import MPI

import pennympi
from pennympi.compile.cache import made_once
from pennympi.job.rendezvous import NUMBERS

comm = MPI.COMM_WORLD
os.environ["PENNYMPI_NODE"] = f"node{2 * comm.rank // comm.size}"
LIMIT_S = 10


def until(seen):
    """Look at this PE's memory, without a call of pennympi."""
    end_s = time.monotonic() + LIMIT_S
    while not seen():
        assert time.monotonic() < end_s, "nothing came"


def told(team, what):
    team.barrier()
    if team.me == 0:
        print("held:", what, flush=True)


def computing(team, far):
    """A put reaches a PE that computes, and a get is answered by it."""
    array, signal = team.full(3 << 16, team.me, "int64"), team.signals(1)
    team.barrier()
    if team.me == 0:
        team.put(array, np.full(3 << 16, 77), far)
        found = np.empty(3 << 16, np.int64)
        team.get(found, array, far)
        assert (found == 77).all()
        team.put_signal(array, np.full(3 << 16, 78), signal, 1, far)
    elif team.me == far:
        until(lambda: signal[0] == 1)
        assert (array == 78).all()
    told(team, "a put and a get reach a PE that computes")


def in_order(team, far):
    """Small and large puts to one place arrive in order, the last signal after all."""
    rng = np.random.default_rng(1)
    kinds = [1, 8, 32768, 32769, 1 << 17, (1 << 17) + 1, 1 << 20]
    sizes = [int(n) for n in rng.choice(kinds, 400, p=[0.4, 0.3, *(0.07,) * 4, 0.02])]
    array, signal = team.zeros(1 << 20, "uint8"), team.signals(1)
    expected = np.zeros(1 << 20, np.uint8)
    for k, n in enumerate(sizes):
        src = np.full(n, k % 251, np.uint8)
        expected[:n] = src
        if team.me == 0:
            team.put_signal(array[:n], src, signal, k + 1, far)
            src[:] = 255  # it is free again
    if team.me == far:
        team.wait_signal(signal, len(sizes), 0)
        assert (array == expected).all()
    told(team, "puts of one PE arrive in order, whatever their size")


def all_at_once(team, far):
    """Every PE sends every other one much, before anybody receives."""
    n, count = team.n_pes, 1 << 19
    inbox, signals = team.zeros((n, count), "int64"), team.signals(n)
    for k in range(1, n):
        pe = (team.me + k) % n
        team.put_signal(inbox[team.me], np.full(count, 1000 * team.me + pe), signals[team.me : team.me + 1], 1, pe)
    for k in range(1, n):
        pe = (team.me + k) % n
        team.wait_signal(signals[pe : pe + 1], 1, pe)
        assert (inbox[pe] == 1000 * pe + team.me).all()
    told(team, "all PEs send 4 MiB to all others at once")


def meetings(team, far):
    """More meetings than have tags of their own, short and long ones, beside all else that goes over MPI."""
    for k in range(3 * NUMBERS):
        brought = bytes([team.me]) * (k % 3 * 4000)
        assert team.gather(brought) == [bytes([pe]) * len(brought) for pe in range(team.n_pes)]
        assert (team.allreduce(np.ones(3)) == team.n_pes).all()
    told(team, "many meetings beside puts and signs of life")


def compiling(team, far):
    """A PE that compiles for longer than the deadline is alive for the other node."""
    if team.me == far:
        made_once(f"slow {os.getpid()}", (str(time.time()),), lambda: time.sleep(1.5 * team._job.timeout_s) or b"x")
    team.barrier()
    told(team, "a PE that compiles is alive for other nodes")


def main():
    with pennympi.init(comm, backend="host") as team:
        assert [len(pes) for pes in team.pe_topology.nodes] == [comm.size // 2] * 2
        for check in (computing, in_order, all_at_once, meetings, compiling):
            check(team, team.n_pes - 1)
    assert not sys.modules.get("cupy")


main()
