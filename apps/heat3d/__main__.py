"""Heat in a cube, on several GPUs or CPUs:  mpirun -np 4 python -m apps.heat3d --plot heat.png

mpirun -np 4 python -m apps.heat3d --nx 512 --dtype float32 --verify   PASS or FAIL, exit status 0 or 1
mpirun -np 4 python -m apps.heat3d --engine blocked --depth 2          two steps a pass, halos of two points, not three
mpirun -np 3 python -m apps.heat3d --checkpoint run.h5 --every 100     with --restart on any number of PEs: goes on

A step makes of a point an eighth of its six neighbours and of twice itself, explicit Euler; beyond the cube all is 0.
2 and 1/8 are exact factors, so that only sums round, always in one order: the same bits on any number of PEs.
"""

import argparse
import math
import sys
import time

import numpy as np
from mpi4py import MPI

import pennympi
from pennympi.kernels.block import real

from ..program.progress import Progress

DEPTH = 3  # steps of a pass over memory, if --depth gives no other number


def step(here, before, after, above, below, left, right):
    """A point's new value."""
    return real(0.125) * ((((before + after) + (above + below)) + (left + right)) + (here + here))


class Heat:
    """A field over the PEs of a team, and how to advance it.  Collective.

    start: (grid.own), the field after ``done`` steps
    """

    def __init__(self, team, grid, start, done=0, engine="auto", depth=None):
        self.team, self.grid, self.done, self.how = team, grid, done, {"engine": engine, "depth": depth}
        self.u, self.v = (grid.zeros(start.dtype) for _ in range(2))  # whose halo beyond the cube stays 0
        self.stream, self.sweeps = team.stream(), {}
        grid.interior(self.u)[...] = start
        team.synchronize()

    def plan(self, n):
        """The plan of n steps from u."""
        if (n, id(self.u)) not in self.sweeps:
            self.sweeps[n, id(self.u)] = self.grid.plan_sweep(step, self.u, self.v, n, **self.how)
        return self.sweeps[n, id(self.u)]

    def advance(self, n):
        """Go on to step n, and return the field (grid.local)."""
        if n > self.done:
            sweep = self.plan(n - self.done)
            sweep(self.stream)
            self.team.synchronize(self.stream)
            self.u, self.v = (self.u, self.v) if sweep.newest is self.u else (self.v, self.u)
        self.done = n
        return self.u


def eigenmode(grid, done):
    """(grid.own) float64: half a wave in each dimension, which a step multiplies by one number."""
    angles = [math.pi / (n + 1) for n in grid.shape]
    x, y, z = (np.sin((i + 1) * angle) for i, angle in zip(grid.coordinates(), angles, strict=True))  # CuPy's on a GPU
    return x * y * z * (1 - sum(math.sin(angle / 2) ** 2 for angle in angles) / 2) ** done


def plot(path, u, title):
    """Draw u (nx, ny, nz): a slice through the middle, and the warm points, cut open."""
    from matplotlib import colormaps, figure

    page = figure.Figure(figsize=(10, 4.6), layout="constrained")
    flat, solid = page.add_subplot(1, 2, 1, title=title), page.add_subplot(1, 2, 2, projection="3d")
    flat.imshow(u[:, :, u.shape[2] // 2].T, origin="lower", cmap="inferno")
    blocks = u[tuple(slice(None, None, -(-n // 40)) for n in u.shape)] / (u.max() or 1)
    warm = (blocks > 0.1) & (np.arange(blocks.shape[1])[:, None] > 0.4 * blocks.shape[1])
    solid.voxels(warm, facecolors=colormaps["inferno"](blocks))
    solid.set_axis_off()
    page.savefig(path)


def options():
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m apps.heat3d")
    defaults = {"nx": 128, "ny": 128, "nz": 128, "niter": 1000, "every": 200, "dims": "0,0,0", "dtype": "float64"}
    for name, value in (defaults | {"plot": "", "checkpoint": "", "depth": 0}).items():
        parser.add_argument(f"--{name}", type=type(value), default=value)
    parser.add_argument("--engine", choices=("auto", "plain", "blocked", "resident"), default="auto")
    for name in ("verify", "restart"):
        parser.add_argument(f"--{name}", action="store_true")
    given = parser.parse_args()
    if min(given.niter, given.every) < 1 or (given.restart and not given.checkpoint):
        parser.error("--niter and --every are at least 1, and --restart needs --checkpoint FILE")
    return given


def make_grid(team, given):
    """The grid, whose halos are as deep as the engines sweep at a time, if the parts have as many points."""
    shape, dims = (given.nx, given.ny, given.nz), [int(p) for p in given.dims.split(",")]
    dims = team.grid(shape, dims).dims
    fewest = [n // p for n, p in zip(shape, dims, strict=True) if p > 1]
    return team.grid(shape, dims, halo=given.depth or min([DEPTH, *fewest]))


def main(given):
    """Run with these options; the exit status."""
    seconds, wrong = 0.0, 0.0
    with pennympi.init() as team:
        grid, first = make_grid(team, given), 0
        x, y, z = ((i + 0.5) / n for i, n in zip(grid.coordinates(), grid.shape, strict=True))
        ball = (x - 0.4) ** 2 + (y - 0.4) ** 2 + (z - 0.6) ** 2 < 0.05  # 1 inside, else 0
        start = (eigenmode(grid, 0) if given.verify else ball).astype(given.dtype)
        if given.restart:
            u = grid.zeros(given.dtype)
            try:
                first = grid.load(given.checkpoint, u=u).get("done")
                if type(first) is not int or first < 0:
                    raise ValueError(f"{given.checkpoint} holds no number of steps, done")
            except (OSError, ValueError) as error:  # on all PEs
                if team.me == 0:
                    print(f"error: --restart: {error}", file=sys.stderr, flush=True)
                return 1
            start = grid.interior(u)
        heat = Heat(team, grid, start, first, given.engine, given.depth or None)
        u, done, progress = heat.u, first, Progress(team.me, given.niter - first)
        while done < given.niter:
            done = min(done + given.every, given.niter)
            heat.plan(done - heat.done)  # compiles
            begin = time.perf_counter()
            u = heat.advance(done)
            seconds += time.perf_counter() - begin
            progress.show(done - first)
            if given.checkpoint:
                grid.save(given.checkpoint, u=u, done=done)
        progress.close()
        if given.verify:  # at each step, a sum of numbers that are not negative rounds to within 2 eps of itself
            right, kind = eigenmode(grid, done), np.finfo(given.dtype)
            wrong = abs(grid.interior(u) - right) / (4 * (done + 1) * (kind.eps * right + kind.tiny))
            wrong = team.comm.allreduce(float(wrong.max()), op=MPI.MAX)
        seconds, whole = team.comm.allreduce(seconds, op=MPI.MAX), grid.gather(u) if given.plot else None
        if team.me == 0:
            rate = math.prod(grid.shape) * (done - first) / (seconds or 1)
            what = f"{given.dtype} {grid.shape} over {grid.dims} PEs, steps {first} to {done}"
            print(f"{what}: {rate:.4g} points/s, {2e-9 * u.itemsize * rate:.4g} GB/s, {seconds:.4g} s", flush=True)
            if given.verify:
                print("PASS" if wrong <= 1 else "FAIL", f"error: {wrong:.2g} of what rounding can make", flush=True)
            if given.plot:
                plot(given.plot, whole, what)
    return int(not wrong <= 1)  # NaN is wrong


if __name__ == "__main__":
    raise SystemExit(main(options()))
