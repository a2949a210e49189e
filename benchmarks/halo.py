"""The six faces of a field, exchanged by this library and by mpi4py on CPUs, or by NCCL on GPUs, in one job.

    mpirun -np 2 python benchmarks/halo.py --output halo.json

The field has n^3 points of float64 on each PE and is periodic, so that each PE has six faces whatever the number of PEs.
Before it is timed, each way exchanges random points, and every point of the halo is compared with the whole grid.  Times
are us of an exchange on the slowest PE, the median of bursts: on CPUs in turns, on GPUs one by one and in a CUDA graph.
"""

import time
from typing import NamedTuple

import numpy as np
import rows
from halo_nccl import nccl
from mpi4py import MPI

from pennympi.bench.implementation import array_module
from pennympi.bench.timing import Effort, on_device, on_host

EFFORT = Effort(budget_ms=60.0)
SIDES = [axis + sign for axis in "xyz" for sign in "-+"]


class Face(NamedTuple):
    """A message of the exchange: the points at a side, and the halo at the opposite side that is received.

    boundary, halo: views;  to, source: ranks
    """

    boundary: object
    halo: object
    to: int
    source: int


def faces_of(grid, u):
    """The six faces of a periodic field, in the order of SIDES, which is also the order of messages between two PEs."""
    opposite = {side: side[0] + "-+"[side[1] == "-"] for side in SIDES}
    return [
        Face(grid.boundary(u, side), grid.halo_of(u, opposite_side), grid.neighbour(side), grid.neighbour(opposite_side))
        for side, opposite_side in opposite.items()
    ]


# Ways of mpi4py: (communicator, field, its faces) -> function.  A PE that is its own neighbour copies.
def packed(comm, u, faces):
    """Exchange by Sendrecv of contiguous buffers."""
    ends = [(face, np.empty(face.boundary.shape), np.empty(face.halo.shape)) for face in faces]

    def exchange(stream=None):
        for face, sent, received in ends:
            if face.to == comm.rank:
                face.halo[...] = face.boundary
            else:
                sent[...] = face.boundary
                comm.Sendrecv(sent, face.to, 0, received, face.source, 0)
                face.halo[...] = received

    return exchange


def subarrays(comm, u, faces):
    """Exchange by Sendrecv of MPI's subarray datatypes."""
    whole = np.lib.stride_tricks.as_strided(u, (*u.shape[:-1], u.strides[-2] // u.itemsize))  # with the rows' padding

    def datatype(part):
        first = np.unravel_index((part.ctypes.data - u.ctypes.data) // u.itemsize, whole.shape)
        return MPI.DOUBLE.Create_subarray(whole.shape, part.shape, [int(point) for point in first]).Commit()

    ends = [(face, [whole, 1, datatype(face.boundary)], [whole, 1, datatype(face.halo)]) for face in faces]

    def exchange(stream=None):
        for face, sent, received in ends:
            if face.to == comm.rank:
                face.halo[...] = face.boundary
            else:
                comm.Sendrecv(sent, face.to, 0, received, face.source, 0)

    return exchange


def persistent(comm, u, faces):
    """Exchange by persistent requests of contiguous buffers, all faces at once."""
    copied = [face for face in faces if face.to == comm.rank]
    remote = [(face, np.empty(face.boundary.shape), np.empty(face.halo.shape)) for face in faces if face.to != comm.rank]
    requests = [comm.Recv_init(received, face.source, tag) for tag, (face, _, received) in enumerate(remote)]
    requests += [comm.Send_init(sent, face.to, tag) for tag, (face, sent, _) in enumerate(remote)]

    def exchange(stream=None):
        for face, sent, _ in remote:
            sent[...] = face.boundary
        MPI.Prequest.Startall(requests)
        for face in copied:
            face.halo[...] = face.boundary
        MPI.Request.Waitall(requests)
        for face, _, received in remote:
            face.halo[...] = received

    return exchange


def check(team, grid, u, name, exchange):
    """Exchange random points, and compare every point of the halo with the whole grid.  Collective."""
    comm, xp = team.comm, array_module(team)
    points = xp.random.default_rng(comm.bcast(time.time_ns() & 0xFFFFFFFF)).random(grid.shape)
    u[...] = -1
    grid.interior(u)[...] = points[tuple(slice(f, f + n) for f, n in zip(grid.first, grid.own, strict=True))]
    team.synchronize()
    comm.Barrier()
    exchange()
    team.synchronize()
    comm.Barrier()
    ends = zip(grid.first, grid.own, grid.shape, strict=True)
    right = points[xp.ix_(*(xp.arange(first - 1, first + n + 1) % whole for first, n, whole in ends))]
    pairs = [(grid.halo_of(u, side), grid.halo_of(right, side)) for side in SIDES]
    if not comm.allreduce(all(bool((content == expected).all()) for content, expected in pairs), MPI.LAND):
        raise SystemExit(f"{name}: a halo of {grid} is wrong")


def measure(team, n, dims):
    grid, stream = team.grid([n * p for p in dims], dims, periodic=True), team.stream()
    u = grid.zeros("float64")
    ways = {"pennympi": grid.plan_exchange(u)}
    for way in (packed, subarrays, persistent) if team.backend == "host" else (nccl,):
        ways[way.__name__] = way(team.comm if team.backend == "host" else team, u, faces_of(grid, u))
    for name, exchange in ways.items():
        check(team, grid, u, name, lambda exchange=exchange: exchange(stream))
    if team.backend == "host":
        times = [{"host": measured.median_us} for measured in on_host(team, list(ways.values()), EFFORT)]
    else:
        modes = [[on_device(team, way, stream, EFFORT, graph) for graph in (False, True)] for way in ways.values()]
        times = [{measured.mode: measured.median_us for measured in both_modes} for both_modes in modes]
    yield from ({"points": n, "dims": dims, "way": way, "us": us} for way, us in zip(ways, times, strict=True))
    ways.clear()
    del exchange
    team.synchronize()
    team.barrier()
    team.free(u)


def all_rows(team):
    p = team.n_pes
    for n in (64, 128) if team.backend == "host" else (64, 128, 256):
        for dims in dict.fromkeys([(p, 1, 1), (1, 1, p), (1, p, 1), tuple(MPI.Compute_dims(p, 3))]):
            yield from measure(team, n, dims)


if __name__ == "__main__":
    rows.main(__doc__, all_rows)
