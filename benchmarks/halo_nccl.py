"""Exchange of faces by NCCL, in stream order: a kernel packs all faces, NCCL moves them, a kernel unpacks them.

All faces for a PE are one message; a PE that is its own neighbour copies in the first of the two kernels.
"""

from functools import cache

THREADS, MOST_BLOCKS = 256, 1024
# Numbers of a face: its first point in the field; its first place in the buffer, or -1 minus its first point in the
# opposite halo; points; points in y; points in z.
CODE = """
__device__ int place(const int* face, int first, int i, int plane, int row) {
    unsigned y = (unsigned)i / face[4], z = (unsigned)i % face[4], x = y / face[3];
    return first + x * plane + (y - x * face[3]) * row + z;
}
extern "C" __global__ void pack(double* u, double* buffer, const int* faces, int plane, int row) {
    const int* face = faces + 5 * blockIdx.y;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < face[2]; i += gridDim.x * blockDim.x) {
        double value = u[place(face, face[0], i, plane, row)];
        if (face[1] < 0) u[place(face, -1 - face[1], i, plane, row)] = value;
        else buffer[face[1] + i] = value;
    }
}
extern "C" __global__ void unpack(double* u, double* buffer, const int* faces, int plane, int row) {
    const int* face = faces + 5 * blockIdx.y;
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
    """NCCL over the team's PEs, made once since making it takes long.  Collective."""
    from apps.program.nccl_communicator import Communicator

    return Communicator(team)


class Move:
    """A kernel for some faces.  buffer: (n,) points of messages;  messages: [(rank, its part of the buffer)]"""

    def __init__(self, name, u, parts):
        """parts: [(view of a face, rank to which or from which it goes, view to which it is copied or None)]"""
        import cupy

        self.kernel, table, size = kernel(name), [], 0
        starts = {}
        for view, peer, to in sorted(parts, key=lambda part: part[1]):  # by rank, in the given order for each rank
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
        """Launch the kernel in the current stream."""
        if self.shape[1]:
            self.kernel(self.shape, (THREADS, 1, 1), self.args)


def _first(u, view):
    return (view.data.ptr - u.data.ptr) // u.itemsize


def nccl(team, u, faces):
    """A function (stream) that exchanges the faces."""
    me, library = team.comm.rank, communicator(team)
    pack = Move("pack", u, [(face.boundary, face.to, face.halo if face.to == me else None) for face in faces])
    unpack = Move("unpack", u, [(face.halo, face.source, None) for face in faces if face.source != me])

    def exchange(stream):
        with stream:
            pack()
            if pack.messages:
                with library.nccl.group():
                    for peer, part in pack.messages:
                        library.comm.send(part, peer, stream=stream.ptr)
                    for peer, part in unpack.messages:
                        library.comm.recv(part, peer, stream=stream.ptr)
            unpack()

    return exchange
