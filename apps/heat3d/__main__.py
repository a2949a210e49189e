"""Heat in a cube, on several GPUs or CPUs:  mpirun -np 4 python -m apps.heat3d --plot heat.png

mpirun -np 4 python -m apps.heat3d --nx 512 --dtype float32 --verify   PASS or FAIL, exit status 0 or 1
mpirun -np 3 python -m apps.heat3d --checkpoint run.h5 --every 100     with --restart on any number of PEs: goes on

A step makes of a point an eighth of its six neighbours and of twice itself, explicit Euler; beyond the cube all is 0.
2 and 1/8 are exact factors, so that only sums round, always in one order: the same bits on any number of PEs.
    stream | inner points .............................. | next step
    push   | points that neighbours wait for | exchange  |             by grid.overlap
"""

import argparse
import math
import time

import numpy as np
from mpi4py import MPI

import pennympi

from .kernels import compute, kernels_for

STEPS = 10  # of a CUDA graph, an even number


def solver(team, grid, start, done=0, overlap=True):
    """A function that goes on to step n > done and returns the field (grid.local).  start: (grid.own).  Collective."""
    fields = [grid.zeros(start.dtype) for _ in range(2)]  # whose halo beyond the cube stays 0
    kernels, exchanges = kernels_for(team, fields[0]), [grid.plan_exchange(u) for u in fields]
    stream, on_gpu = team.stream(), team.backend == "cuda"

    def step(k):  # enqueues step k, from field k % 2 to the other, and its exchange
        old, new, exchange = fields[k % 2], fields[(k + 1) % 2], exchanges[(k + 1) % 2]
        with grid.overlap(exchange, stream, split=overlap) as parts:  # sides, exchange of ``new``, inner points
            for part in parts:
                compute(team, kernels, new, old, part.first, part.stop, part.stream)

    def advance(n):
        nonlocal done
        while done < n:
            whole = on_gpu and done % 2 == 0 and STEPS <= n - done
            graph.launch(stream) if whole else step(done)
            done += STEPS if whole else 1
        team.synchronize(stream)
        return fields[done % 2]

    step(0), step(1), team.synchronize(stream)  # of zeros, which stay zeros: compiles all before the capture
    if on_gpu:
        stream.begin_capture()
        for k in range(STEPS):
            step(k)
        graph = stream.end_capture()
    grid.interior(fields[done % 2])[...] = start
    exchanges[done % 2](), team.barrier(), team.synchronize()
    return advance


def eigenmode(grid, done):  # (grid.own) float64: half a wave in each dimension, which a step multiplies by one number
    angles = [math.pi / (n + 1) for n in grid.shape]
    x, y, z = (np.sin((i + 1) * angle) for i, angle in zip(grid.coordinates(), angles, strict=True))  # CuPy's on a GPU
    return x * y * z * (1 - sum(math.sin(angle / 2) ** 2 for angle in angles) / 2) ** done


def plot(path, u, title):  # u (nx, ny, nz): a slice through the middle, and the warm points, cut open
    from matplotlib import colormaps, figure

    page = figure.Figure(figsize=(10, 4.6), layout="constrained")
    flat, solid = page.add_subplot(1, 2, 1, title=title), page.add_subplot(1, 2, 2, projection="3d")
    flat.imshow(u[:, :, u.shape[2] // 2].T, origin="lower", cmap="inferno")
    blocks = u[tuple(slice(None, None, -(-n // 40)) for n in u.shape)] / (u.max() or 1)
    warm = (blocks > 0.1) & (np.arange(blocks.shape[1])[:, None] > 0.4 * blocks.shape[1])
    solid.voxels(warm, facecolors=colormaps["inferno"](blocks)), solid.set_axis_off(), page.savefig(path)


if __name__ == "__main__":
    parser, seconds, wrong = argparse.ArgumentParser(prog="python -m apps.heat3d"), 0.0, 0.0
    defaults = {"nx": 128, "ny": 128, "nz": 128, "niter": 1000, "every": 1000, "dims": "0,0,0", "dtype": "float64"}
    for name, value in (defaults | {"plot": "", "checkpoint": ""}).items():
        parser.add_argument(f"--{name}", type=type(value), default=value)
    for name in ("verify", "restart", "no-overlap"):
        parser.add_argument(f"--{name}", action="store_true")
    given = parser.parse_args()
    if min(given.niter, given.every) < 1 or given.restart and not given.checkpoint:
        parser.error("--niter and --every are at least 1, and --restart needs --checkpoint FILE")
    with pennympi.init() as team:
        grid, first = team.grid((given.nx, given.ny, given.nz), [int(p) for p in given.dims.split(",")]), 0
        x, y, z = ((i + 0.5) / n for i, n in zip(grid.coordinates(), grid.shape, strict=True))
        ball = (x - 0.4) ** 2 + (y - 0.4) ** 2 + (z - 0.6) ** 2 < 0.05  # 1 inside, else 0
        start = (eigenmode(grid, 0) if given.verify else ball).astype(given.dtype)
        if given.restart:
            u = grid.zeros(given.dtype)
            start, first = grid.interior(u), grid.load(given.checkpoint, u=u)["done"]
        advance = solver(team, grid, start, first, not given.no_overlap)
        for done in [*range(first + given.every, given.niter, given.every), max(first, given.niter)]:
            begin, u = time.perf_counter(), advance(done)
            seconds += time.perf_counter() - begin
            if given.checkpoint:
                grid.save(given.checkpoint, u=u, done=done)
        if given.verify:  # at each step, a sum of numbers that are not negative rounds to within 2 eps of itself
            right, kind = eigenmode(grid, done), np.finfo(given.dtype)
            wrong = abs(grid.interior(u) - right) / (4 * (done + 1) * (kind.eps * right + kind.tiny))
            wrong = team.comm.allreduce(float(wrong.max()), op=MPI.MAX)
        seconds, whole = team.comm.allreduce(seconds, op=MPI.MAX), grid.gather(u) if given.plot else None
        if team.me == 0:
            rate = math.prod(grid.shape) * (done - first) / seconds
            told = f"{given.dtype} {grid.shape} over {grid.dims} PEs, steps {first} to {done}"
            print(f"{told}: {rate:.4g} points/s, {2e-9 * u.itemsize * rate:.4g} GB/s, {seconds:.4g} s", flush=True)
            if given.verify:
                print("PASS" if wrong <= 1 else "FAIL", f"error: {wrong:.2g} of what rounding can make", flush=True)
            if given.plot:
                plot(given.plot, whole, told)
    raise SystemExit(not wrong <= 1)  # NaN is wrong
