"""Part of benchmarks/grids.py: what no exchange and no iteration can be faster than, measured in the same job."""

from pennympi.bench.memory import array_module
from pennympi.bench.timing import Effort, on_device, on_host

EFFORT = Effort(budget_ms=30.0)
COPY_BYTES = 64 << 20
SIDES = (64, 128, 256)  # of the cubes that apps/poisson is timed with


def floors(team):
    """The launch of a kernel that does nothing, an AllReduce of one number, copies here and to the next PE."""
    if team.backend == "cuda":
        yield "empty kernel", lambda: launch(team)
        for n in SIDES:
            yield f"copy of {n}^3", lambda n=n: field_copy(team, n)
    yield "allreduce", lambda: small_allreduce(team)
    if team.n_pes > 1:
        yield "copy to the next PE", lambda: copy(team)


def timed(team, what, call, modes, **more):
    """Rows of a call in some modes.  Collective."""
    if team.backend == "host":
        return [{"what": what, "mode": "host", "us": on_host(team, [call], EFFORT)[0].median_us, **more}]
    stream = team.stream()
    every = [on_device(team, call, stream, EFFORT, mode == "graph") for mode in modes]
    return [{"what": what, "mode": times.mode, "us": times.median_us, **more} for times in every]


def launch(team):
    import cupy

    kernel = cupy.RawKernel('extern "C" __global__ void nothing() {}', "nothing")

    def call(stream):
        with stream:
            kernel((1,), (32,), ())

    return timed(team, "a kernel that does nothing", call, ("eager", "graph"))


def field_copy(team, n):
    """A PE's part of a float64 field, copied in its memory: small ones stay in the L2 cache."""
    import cupy

    nbytes = n**3 // team.n_pes * 8
    x, y = cupy.zeros(nbytes, "uint8"), cupy.zeros(nbytes, "uint8")
    runtime = cupy.cuda.runtime

    def call(stream):
        runtime.memcpyAsync(y.data.ptr, x.data.ptr, nbytes, runtime.memcpyDeviceToDevice, stream.ptr)

    return timed(team, "copy of a field", call, ("eager", "graph"), points=n, bytes=nbytes)


def small_allreduce(team):
    x = team.zeros(1, "float64")
    plan = team.plan_allreduce(x)
    rows = timed(team, "AllReduce of one float64", plan, ("eager", "graph"))
    del plan
    team.synchronize(), team.comm.Barrier()
    team.free(x)
    return rows


def copy(team):
    """All PEs at once, each to the next, by its copy engine."""
    x, plain = team.zeros(COPY_BYTES, "uint8"), array_module(team).zeros(COPY_BYTES, "uint8")
    peer = team.peer(x, (team.me + 1) % team.n_pes)

    def call(stream):
        if stream is None:
            peer[...] = plain
        else:
            runtime = array_module(team).cuda.runtime
            runtime.memcpyAsync(peer.data.ptr, plain.data.ptr, COPY_BYTES, runtime.memcpyDefault, stream.ptr)

    rows = timed(team, "copy to the next PE", call, ("eager",), bytes=COPY_BYTES)
    team.synchronize(), team.comm.Barrier()
    team.free(x)
    return [row | {"GB_per_s": COPY_BYTES / row["us"] / 1e3} for row in rows]
