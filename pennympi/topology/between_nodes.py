"""The link between two nodes of CPUs, measured when a team starts: ``algorithm="auto"`` chooses by it."""

import time
from functools import partial
from typing import NamedTuple

import numpy as np
from mpi4py import MPI

from ..job.job import Job

TAG = 32699  # different from the tags of job/
SMALL, LARGE = 20, 3  # number of exchanges of 8 bytes, and of LARGE_BYTES
LARGE_BYTES = 2 << 20  # more than the buffers of sockets hold


class Link(NamedTuple):
    """A link.  step_us: time of a message of a few bytes;  gb_s: rate (1e9 bytes/s) in each direction, when both are
    busy"""

    step_us: float
    gb_s: float


def measure(job: Job) -> Link | None:
    """The link between PE 0 and the first PE of another node, the same on every PE; None on one node.  Collective.

    The measurement takes some hundred us, or the time of 6 MiB.  Raises PeerTimeout.
    """
    nodes = [process.node for process in job.control.processes]
    remote_pe = next((pe for pe, node in enumerate(nodes) if node != nodes[0]), 0)
    if not remote_pe:
        return None
    link: Link | None = None
    if job.me in (0, remote_pe):
        peer = remote_pe if job.me == 0 else 0
        small, large = (_exchange_us(job, peer, nbytes, turns) for nbytes, turns in ((8, SMALL), (LARGE_BYTES, LARGE)))
        link = Link(small, LARGE_BYTES / 1e3 / max(large - small, 1e-3))
    return job.gather(link, "measurement of the link between nodes")[0]


def _exchange_us(job: Job, peer: int, nbytes: int, turns: int) -> float:
    """The fastest of some exchanges with a PE, as most algorithms load a link in both directions."""
    sent, received, best_s = np.zeros(nbytes, np.uint8), np.empty(nbytes, np.uint8), float("inf")
    for _ in range(turns):
        start_s = time.perf_counter()
        requests = [job.comm.Irecv(received, peer, TAG), job.comm.Isend(sent, peer, TAG)]
        job.wait(partial(MPI.Request.Testall, requests), lambda: [peer], "measurement of the link between nodes")
        best_s = min(best_s, time.perf_counter() - start_s)
    return best_s * 1e6
