"""Two ways to exchange faces on GPUs: a kernel packs all faces, NCCL or MPI carries them, and a kernel unpacks them.

``WAYS[name](team, grid, u)`` gives a function of a stream.  All faces for one PE are one message; a PE that is its own
neighbour copies in the first of the two kernels.
"""

from functools import cache

from halo_mpi import faces
from mpi4py import MPI

THREADS, MOST_BLOCKS = 256, 1024
# Of a face: its first point in the field, its first place in the buffer or -1 - its first point beyond the other side,
# points, points in y, points in z.
CODE = """
__device__ int place(const int* face, int first, int i, int plane, int row) {
    unsigned y = (unsigned)i / face[4], z = (unsigned)i % face[4], x = y / face[3];
    return first + x * plane + (y - x * face[3]) * row + z;
}
extern "C" __global__ void pack(double* u, double* buffer, const int* every, int plane, int row) {
    const int* face = every + 5 * blockIdx.y;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < face[2]; i += gridDim.x * blockDim.x) {
        double value = u[place(face, face[0], i, plane, row)];
        if (face[1] < 0) u[place(face, -1 - face[1], i, plane, row)] = value;
        else buffer[face[1] + i] = value;
    }
}
extern "C" __global__ void unpack(double* u, double* buffer, const int* every, int plane, int row) {
    const int* face = every + 5 * blockIdx.y;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < face[2]; i += gridDim.x * blockDim.x)
        u[place(face, face[0], i, plane, row)] = buffer[face[1] + i];
}
"""


@cache
def kernel(name):
    import cupy

    return cupy.RawKernel(CODE, name)


@cache
def communicator(team):
    """NCCL over the team's PEs, made once because making it takes long.  Collective."""
    from apps.program.nccl_communicator import Communicator

    return Communicator(team)


class Move:
    """One kernel for some faces.  buffer: (n,) of what travels;  messages: [(rank, its part of the buffer)]"""

    def __init__(self, name, u, parts):
        """parts: [(view of a face, the rank it goes to or comes from, view to copy to or None)]"""
        import cupy

        self.kernel, table, size = kernel(name), [], 0
        starts = {}
        for view, peer, to in sorted(parts, key=lambda part: part[1]):  # by rank, in their order for each
            if to is None:
                starts.setdefault(peer, [size, size])[1] = size + view.size
            place = size if to is None else -1 - _first(u, to)
            table.append((_first(u, view), place, view.size, *view.shape[1:]))
            size += view.size if to is None else 0
        self.buffer = cupy.empty(max(size, 1), u.dtype)
        self.messages = [(peer, self.buffer[first:stop]) for peer, (first, stop) in starts.items()]
        plane, row = (cupy.int32(stride // u.itemsize) for stride in u.strides[:2])
        self.args = (u, self.buffer, cupy.array(table, "int32"), plane, row)
        blocks = min(MOST_BLOCKS, -(-max((row[2] for row in table), default=0) // THREADS))
        self.shape = (blocks, len(table), 1)

    def __call__(self):
        """Launch it in the current stream."""
        if self.shape[1]:
            self.kernel(self.shape, (THREADS, 1, 1), self.args)


def _first(u, view):
    return (view.data.ptr - u.data.ptr) // u.itemsize


def moves(team, grid, u):
    """The kernels that pack and unpack a field's faces."""
    me, every = team.comm.rank, faces(grid, u)
    out = [(face.mine, face.to, face.halo if face.to == me else None) for face in every]
    into = [(face.halo, face.source, None) for face in every if face.source != me]
    return Move("pack", u, out), Move("unpack", u, into)


def nccl(team, grid, u):
    """A kernel, grouped ncclSend and ncclRecv, a kernel: in stream order, without the host."""
    pack, unpack = moves(team, grid, u)
    library = communicator(team)
    group, send, receive = library.nccl.group, library.comm.send, library.comm.recv

    def exchange(stream):
        with stream:
            pack()
            if pack.messages or unpack.messages:
                with group():
                    for peer, part in pack.messages:
                        send(part, peer, stream=stream.ptr)
                    for peer, part in unpack.messages:
                        receive(part, peer, stream=stream.ptr)
            unpack()

    return exchange


def mpi(team, grid, u):
    """A kernel, MPI through pinned memory of the host, a kernel: for any MPI."""
    import cupyx

    pack, unpack = moves(team, grid, u)
    comm, sends, receives = team.comm, [], []
    for move, ends in ((pack, sends), (unpack, receives)):
        for peer, part in move.messages:
            ends.append((peer, part.data, cupyx.empty_pinned(part.shape, part.dtype)))

    def exchange(stream):
        with stream:
            pack()
            for _, device, host in sends:
                device.copy_to_host_async(host.ctypes.data, host.nbytes, stream)
            stream.synchronize()  # the copies to the device of the exchange before have ended too
            requests = [comm.Irecv(host, peer) for peer, _, host in receives]
            requests += [comm.Isend(host, peer) for peer, _, host in sends]
            MPI.Request.Waitall(requests)
            for _, device, host in receives:
                device.copy_from_host_async(host.ctypes.data, host.nbytes, stream)
            unpack()

    return exchange


WAYS = {"nccl": nccl, "mpi": mpi}
