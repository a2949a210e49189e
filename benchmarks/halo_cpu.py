"""Three ways to exchange faces on CPUs by mpi4py.  ``WAYS[name](team, grid, u)`` gives a function of a stream, unused."""

import numpy as np
from halo_faces import faces
from mpi4py import MPI


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
                if face.source != MPI.PROC_NULL:
                    face.halo[...] = into

    return exchange


def subarrays(team, grid, u):
    """Sendrecv of MPI's subarray datatypes; a PE that is its own neighbour copies."""
    comm = team.comm
    ends = [(face, subarray(u, face.mine), subarray(u, face.halo)) for face in faces(grid, u)]

    def exchange(stream=None):
        for face, out, into in ends:
            if face.to == comm.rank:
                face.halo[...] = face.mine
            else:
                comm.Sendrecv([u, 1, out], face.to, 0, [u, 1, into], face.source, 0)

    return exchange


def persistent(team, grid, u):
    """Persistent requests of contiguous buffers, all faces at once; a PE that is its own neighbour copies."""
    comm = team.comm
    copies, packs, unpacks, requests = [], [], [], []
    for tag, face in enumerate(faces(grid, u)):
        if face.to == comm.rank:
            copies.append((face.halo, face.mine))
            continue
        if face.source != MPI.PROC_NULL:
            unpacks.append((face.halo, np.empty(face.halo.shape)))
            requests.append(comm.Recv_init(unpacks[-1][1], face.source, tag))
        if face.to != MPI.PROC_NULL:
            packs.append((np.empty(face.mine.shape), face.mine))
            requests.append(comm.Send_init(packs[-1][0], face.to, tag))

    def exchange(stream=None):
        for out, mine in packs:
            out[...] = mine
        MPI.Prequest.Startall(requests)
        for halo, mine in copies:
            halo[...] = mine
        MPI.Request.Waitall(requests)
        for halo, into in unpacks:
            halo[...] = into

    exchange.free = lambda: [request.Free() for request in requests]
    return exchange


def subarray(u, part):
    """The datatype of a view's points in its array."""
    first = np.unravel_index((part.ctypes.data - u.ctypes.data) // u.itemsize, u.shape)
    return MPI.DOUBLE.Create_subarray(u.shape, part.shape, [int(one) for one in first]).Commit()


WAYS = {"packed": packed, "subarrays": subarrays, "persistent": persistent}
