"""Several steps of an exchange, with halos as wide:  mpirun -np 4 python -m apps.heat3d.blocked

After an exchange of halos of width T, with edges and corners, a PE does T steps alone, the first also of its neighbours'
points up to T-1 away, which they compute to the same bits: one wait in T steps, for points that are computed twice.
"""

import time

from mpi4py import MPI

import pennympi

from .__main__ import eigenmode
from .kernels import compute, kernels_for


def solve(team, grid, start, niter):
    """The field (grid.local) after niter steps of ``start`` (grid.own), and the seconds of this PE.  Collective."""
    fields, width = [grid.zeros(start.dtype) for _ in range(2)], min(grid.halo)
    kernels, stream = kernels_for(team, fields[0]), team.stream()
    exchanges = [grid.plan_exchange(u, corners=True) for u in fields]
    inner = [[grid.neighbour(axis + sign) is not None for axis in "xyz"] for sign in "-+"]  # sides inside of the cube

    def step(k, around):  # step k, also of the points up to ``around`` away, where there are any
        first = [h - around * more for h, more in zip(grid.halo, inner[0], strict=True)]
        stop = [h + n + around * more for h, n, more in zip(grid.halo, grid.own, inner[1], strict=True)]
        compute(team, kernels, fields[(k + 1) % 2], fields[k % 2], first, stop, stream)

    step(0, 0), step(1, 0), exchanges[1](), team.synchronize(stream)  # of zeros: compiles
    grid.interior(fields[0])[...] = start
    exchanges[0](), team.barrier(), team.synchronize()
    begin = time.perf_counter()
    for k in range(niter):
        step(k, width - 1 - k % width)
        if (k + 1) % width == 0 and k + 1 < niter:
            exchanges[(k + 1) % 2](stream)
    team.synchronize(stream)
    return fields[niter % 2], time.perf_counter() - begin


if __name__ == "__main__":
    with pennympi.init() as team:
        n, niter = 64, 500
        for halo in (1, 2, 4, 8):
            grid = team.grid((n, n, n), halo=halo)
            u, seconds = solve(team, grid, eigenmode(grid, 0).astype("float32"), niter)
            seconds = team.comm.allreduce(seconds, op=MPI.MAX)
            if team.me == 0:
                rate, step_us = niter * n**3 / seconds, 1e6 * seconds / niter
                print(f"{halo} steps an exchange: {rate:.4g} points/s, {step_us:.4g} us a step", flush=True)
