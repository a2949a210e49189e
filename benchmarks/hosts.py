"""AllReduce and put_signal between hosts on CPUs, beside the MPI that carries both, and beside the cost model.

tools/hosts.sh 2 mpirun -np 4 python benchmarks/hosts.py hosts-2x2.json "1 Gbit/s"                  with RATE=1gbit
tools/hosts.sh 2 mpirun -np 16 python benchmarks/hosts.py predicted-2x8.json "1 Gbit/s" 256K 1M 4M  some sizes, no puts
Times are us of a call on the slowest rank: the median of bursts.  Every result is compared with MPI's, on random data.
With sizes, all but auto's of which the model expects more than MOST_S a call are left out.
"""

import json
import sys
import time
from pathlib import Path

import numpy as np
from mpi4py import MPI

import pennympi
from pennympi.bench.rivals.mpi import Mpi
from pennympi.bench.sizes import parse
from pennympi.kernels.allreduce import TABLE

SIZES_BYTES = [8, 1 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20]
PUT_SIZES_BYTES = [8, 64 << 10, 1 << 20, 16 << 20]
BURSTS, BURST_S, MOST_CALLS, MOST_S = 9, 0.02, 50, 0.4


def timed(comm, call):
    """Median us of a call on the slowest rank."""
    start_s = time.perf_counter()
    call()
    call()
    warm_s = comm.bcast(time.perf_counter() - start_s)
    calls = max(1, min(MOST_CALLS, int(2 * BURST_S / warm_s)))
    found = []
    for _ in range(BURSTS if warm_s < MOST_S / 4 else 3):
        comm.Barrier()
        start_s = time.perf_counter()
        for _ in range(calls):
            call()
        found.append(comm.allreduce((time.perf_counter() - start_s) / calls * 1e6, MPI.MAX))
    return sorted(found)[len(found) // 2]


def allreduce(team, comm, nbytes, most_s):
    """{"nbytes", "mpi", "auto": its name, "us": {algorithm: us of a plan}, "modelled": {algorithm: us}}"""
    rng = np.random.default_rng([team.me, nbytes])
    x = rng.integers(-1000, 1000, nbytes // 4).astype(np.float32)  # whose sums are exact in any order
    out, expected = np.empty_like(x), np.empty_like(x)
    row = {"nbytes": nbytes, "mpi": timed(comm, lambda: comm.Allreduce(x, expected)), "us": {}}
    said = team.explain(nbytes)
    row["auto"], row["modelled"] = said.algorithm, dict(said.modelled)
    for name in TABLE:
        too_long = most_s and name != said.algorithm and said.modelled.get(name, 0) > most_s * 1e6
        if name in said.refused or too_long:
            continue
        out[:] = 0
        row["us"][name] = timed(comm, team.plan_allreduce(x, out, algorithm=name))
        if not comm.allreduce(bool((out == expected).all()), MPI.LAND):
            raise SystemExit(f"{name} of {nbytes} bytes is wrong")
    row["eager"] = timed(comm, lambda: team.allreduce(x, out))
    if team.me == 0:
        tell(row)
    return row


def tell(row):
    """A line about an AllReduce."""
    best = min(row["us"], key=row["us"].get)
    us, modelled = (row[what].get(row["auto"], 0) for what in ("us", "modelled"))
    told = f"{row['nbytes']:>9} B  mpi {row['mpi']:9.1f}  auto {row['auto']} {us:9.1f} (modelled {modelled:.1f})"
    print(f"{told} (eager {row['eager']:.1f})  best {best} {row['us'][best]:.1f}", flush=True)


def put_signal(team, comm, nbytes):
    """{"nbytes", "mpi", "us"}: half of a ping-pong between the first and the last PE, by Send/Recv and by put_signal."""
    last = team.n_pes - 1
    peer = {0: last, last: 0}.get(team.me)
    src, given = np.random.default_rng(nbytes).integers(0, 255, nbytes, np.uint8), np.empty(nbytes, np.uint8)
    dst, signal = team.zeros(nbytes, "uint8"), team.signals(1)
    turn = 0

    def by_mpi():
        for sender in (0, last):
            if team.me == sender:
                comm.Send(src, peer)
            elif peer is not None:
                comm.Recv(given, peer)

    def by_put():
        nonlocal turn
        turn += 1
        for sender in (0, last):
            if team.me == sender:
                team.put_signal(dst, src, signal, turn, peer)
            elif peer is not None:
                team.wait_signal(signal, turn, peer)

    row = {"nbytes": nbytes, "mpi": timed(comm, by_mpi) / 2, "us": timed(comm, by_put) / 2}
    if not comm.allreduce(peer is None or bool((dst == src).all()), MPI.LAND):
        raise SystemExit(f"a put_signal of {nbytes} bytes is wrong")
    team.barrier()
    team.free(dst)
    return row


def main():
    path, link = Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "unlimited"
    sizes = [parse(one) for one in sys.argv[3:]]
    comm = MPI.COMM_WORLD
    with pennympi.init(comm, backend="host") as team:
        result = {
            "pennympi": pennympi.__version__,
            "mpi": Mpi(team).version,
            "nodes": [len(pes) for pes in team.place.nodes],
            "link": link,
            "model": team.explain(8).why,
            "allreduce": [allreduce(team, comm, nbytes, MOST_S if sizes else None) for nbytes in sizes or SIZES_BYTES],
            "put_signal": [] if sizes else [put_signal(team, comm, nbytes) for nbytes in PUT_SIZES_BYTES],
        }
        if team.me == 0:
            path.write_text(json.dumps(result, indent=1) + "\n")
            for row in result["put_signal"]:
                print(f"{row['nbytes']:>9} B  Send/Recv {row['mpi']:9.1f}  put_signal {row['us']:9.1f}", flush=True)


main()
