"""Three ways to exchange faces on CPUs by mpi4py.  ``WAYS[name](team, grid, u)`` gives a function of a stream, unused."""

from typing import NamedTuple

import numpy as np
from mpi4py import MPI

SIDES = [axis + sign for axis in "xyz" for sign in "-+"]


class Face(NamedTuple):
    """Where the points at a side go, and what comes to the halo at the opposite side.

    mine, halo: views;  to, source: ranks
    """

    mine: object
    halo: object
    to: int
    source: int


def faces(grid, u):
    """The six faces of a periodic field, in the order of SIDES, which is that of the messages of two PEs, too."""
    opposite = {side: side[0] + "-+"[side[1] == "-"] for side in SIDES}
    return [
        Face(grid.boundary(u, side), grid.halo_of(u, other), grid.neighbour(side), grid.neighbour(other))
        for side, other in opposite.items()
    ]


def packed(team, grid, u):
    """Sendrecv of contiguous buffers; a PE that is its own neighbour copies."""
    comm = team.comm
    ends = [(face, np.empty(face.mine.shape), np.empty(face.halo.shape)) for face in faces(grid, u)]

    def exchange(stream=None):
        for face, out, into in ends:
            if face.to == comm.rank:
                face.halo[...] = face.mine
            else:
                out[...] = face.mine
                comm.Sendrecv(out, face.to, 0, into, face.source, 0)
                face.halo[...] = into

    return exchange


def subarrays(team, grid, u):
    """Sendrecv of MPI's subarray datatypes; a PE that is its own neighbour copies."""
    comm = team.comm

    rows = np.lib.stride_tricks.as_strided(u, (*u.shape[:-1], u.strides[-2] // u.itemsize))  # whole ones, padding too

    def datatype(part):
        first = np.unravel_index((part.ctypes.data - u.ctypes.data) // u.itemsize, rows.shape)
        return MPI.DOUBLE.Create_subarray(rows.shape, part.shape, [int(one) for one in first]).Commit()

    ends = [(face, datatype(face.mine), datatype(face.halo)) for face in faces(grid, u)]

    def exchange(stream=None):
        for face, out, into in ends:
            if face.to == comm.rank:
                face.halo[...] = face.mine
            else:
                comm.Sendrecv([rows, 1, out], face.to, 0, [rows, 1, into], face.source, 0)

    return exchange


def persistent(team, grid, u):
    """Persistent requests of contiguous buffers, all faces at once; a PE that is its own neighbour copies."""
    comm, every = team.comm, faces(grid, u)
    copies = [face for face in every if face.to == comm.rank]
    sent = [(face, np.empty(face.mine.shape), np.empty(face.halo.shape)) for face in every if face.to != comm.rank]
    requests = [comm.Recv_init(into, face.source, tag) for tag, (face, _, into) in enumerate(sent)]
    requests += [comm.Send_init(out, face.to, tag) for tag, (face, out, _) in enumerate(sent)]

    def exchange(stream=None):
        for face, out, _ in sent:
            out[...] = face.mine
        MPI.Prequest.Startall(requests)
        for face in copies:
            face.halo[...] = face.mine
        MPI.Request.Waitall(requests)
        for face, _, into in sent:
            face.halo[...] = into

    return exchange


WAYS = {"packed": packed, "subarrays": subarrays, "persistent": persistent}
