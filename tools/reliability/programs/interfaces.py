"""Between hosts of tools/hosts.sh, PENNYMPI_COUNT_BYTES=1: AllReduces of 8 MB by each algorithm, the bytes that the
kernel counts at every host's eth0, and those that the library says it put between nodes.

Prints "CARRIED {...}" for each algorithm: the bytes of each host, out and in, and what is wrong with them, if anything.
"""

import json
import time
from pathlib import Path

import numpy as np

import pennympi
from pennympi.kernels.allreduce import TABLE
from pennympi.topology import bytes_by_rail

COUNT, TIMES, MOST_OFF = 2_000_000, 3, 0.05


def counted():
    """(bytes received, bytes sent) of this host's eth0 since it came up."""
    lines = Path("/proc/net/dev").read_text().splitlines()
    words = next(line.split(":")[1].split() for line in lines if line.strip().startswith("eth0:"))
    return np.array([int(words[0]), int(words[8])])


def at_rest(team):
    """``counted`` once nothing is under way any more."""
    team.barrier()
    team.synchronize()
    team.comm.Barrier()
    time.sleep(0.2)
    return counted()


def claimed(team, name):
    """Bytes that leave each host in one AllReduce, by the algorithm's description; 0: it makes no claim."""
    n, n_nodes, nbytes = team.n_pes, len(team.place.nodes), 4 * COUNT
    return {
        "ring": 2 * (n - 1) * nbytes // n,
        "multi_ring": 2 * (n - 1) * nbytes // n,
        "hierarchical": 2 * (n_nodes - 1) * nbytes // n_nodes,
    }.get(name, 0)


def off(one, other):
    return float(np.abs(np.asarray(one) / other - 1).max())


with pennympi.init(heap_bytes=128 << 20) as team:
    x, y = team.full(COUNT, 1, "float32"), team.empty(COUNT, "float32")
    for name, row in TABLE.items():
        if row.refuse(team.place, "float32", "sum"):
            continue
        team.allreduce(x, y, algorithm=name)  # prepares it
        sent, before = team.bytes_sent(), at_rest(team)
        for _ in range(TIMES):
            team.allreduce(x, y, algorithm=name)
        passed = (at_rest(team) - before) / TIMES
        by_pe = np.array(team.gather((team.bytes_sent() - sent) / TIMES)).astype(np.int64)
        out, into = (rails.sum(axis=1) for rails in bytes_by_rail(team.place, by_pe))
        seen = team.gather(passed)
        received, left = (np.array([seen[pes[0]][k] for pes in team.place.nodes]) for k in (0, 1))
        wrong, claim = "", claimed(team, name)
        if max(off(left, out), off(received, into)) > MOST_OFF:
            wrong = f"eth0 sent {left.astype(int).tolist()} and got {received.astype(int).tolist()} B, "
            wrong += f"bytes_sent says {out.tolist()} and {into.tolist()}"
        elif claim and off(left, claim) > MOST_OFF:
            wrong = f"eth0 sent {left.astype(int).tolist()} B, and {claim} are claimed of each host"
        if team.me == 0:
            most = max(off(left, out), off(received, into))
            told = {"what": name, "times": TIMES, "wrong": wrong, "out": left.astype(int).tolist(), "off": round(most, 4)}
            print("CARRIED", json.dumps(told), flush=True)
