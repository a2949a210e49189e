"""The link between two nodes of CPUs, measured when a team starts: ``algorithm="auto"`` chooses by it."""

import time
from typing import NamedTuple

import numpy as np
from mpi4py import MPI

from ..errors import PeerTimeout
from ..job.job import Job

TAG = 32699  # beside those of job/
HOPS, LARGE_BYTES, LARGE_HOPS = 12, 1 << 19, 3


class Link(NamedTuple):
    """us of a message of a few bytes, and GB/s (1e9) of a large one, in one direction."""

    hop_us: float
    gb_s: float


def measure(job: Job) -> Link | None:
    """The link between PE 0 and the first PE of another node, the same on every PE; None on one node.  Collective.

    It takes some hundred us, or as long as 3 MiB take.  Raises PeerTimeout.
    """
    nodes = [process.node for process in job.control.processes]
    far = next((pe for pe, node in enumerate(nodes) if node != nodes[0]), 0)
    if not far:
        return None
    found: Link | None = None
    if job.me in (0, far):
        small, large = (_best_us(job, far, nbytes, hops) for nbytes, hops in ((8, HOPS), (LARGE_BYTES, LARGE_HOPS)))
        found = Link(small, LARGE_BYTES / 1e3 / max(large - small, 1e-3))
    return job.gather(found, "measurement of the link between nodes")[0]


def _best_us(job: Job, far: int, nbytes: int, hops: int) -> float:
    """Half of the fastest ping-pong between PE 0 and PE ``far``."""
    data, best_s = np.zeros(nbytes, np.uint8), float("inf")
    peer = far if job.me == 0 else 0
    for _ in range(hops):
        start_s = time.perf_counter()
        for first in (0, far):
            _wait(job, peer, (job.comm.Isend if job.me == first else job.comm.Irecv)(data, peer, TAG))
        best_s = min(best_s, time.perf_counter() - start_s)
    return best_s / 2 * 1e6


def _wait(job: Job, peer: int, request: MPI.Request) -> None:
    end_s = time.monotonic() + (job.timeout_s or float("inf"))
    while not request.Test():
        if time.monotonic() > end_s:
            raise PeerTimeout(job.me, peer, "the measurement of the link between nodes", timeout_s=job.timeout_s)
