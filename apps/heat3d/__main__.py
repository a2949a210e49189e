"""Heat in a cube, on several GPUs or CPUs:  mpirun -np 4 python -m apps.heat3d --plot heat.png

mpirun -np 4 python -m apps.heat3d --nx 512 --dtype float32 --verify   PASS or FAIL, exit status 0 or 1
mpirun -np 4 python -m apps.heat3d --engine blocked --depth 2          two steps a pass, halos of two points, not three
mpirun -np 3 python -m apps.heat3d --checkpoint run.h5 --every 100     continues with --restart, on any number of PEs

A step of explicit Euler: the new value of a point is an eighth of the sum of its six neighbours and twice itself; outside
the cube all values are 0.  2 and 1/8 are exact factors, so only sums round, always in the same order: the same bits on
any number of PEs.
"""

import math
import time

import numpy as np
from mpi4py import MPI

import pennympi
from pennympi.kernels.block import real

from ..program.arguments import Parser, at_least, fail
from ..program.outcome import FAILED
from ..program.progress import Progress

DEPTH = 3  # the most steps between two exchanges, unless --depth is given


def step(u, x_minus, x_plus, y_minus, y_plus, z_minus, z_plus):
    """A point's new value."""
    return real(0.125) * ((((x_minus + x_plus) + (y_minus + y_plus)) + (z_minus + z_plus)) + (u + u))


class Heat:
    """A field over the PEs of a team, after ``done`` steps.  All methods are collective.

    start: (grid.own), the field after the first ``done`` steps
    """

    def __init__(self, team, grid, start, done=0, engine="auto", depth=None):
        self.team, self.grid, self.done, self.options = team, grid, done, {"engine": engine, "depth": depth}
        self.u, self.v = (grid.zeros(start.dtype) for _ in range(2))  # their halos outside the cube stay 0
        self.stream, self.sweeps = team.stream(), {}
        grid.interior(self.u)[...] = start
        team.synchronize()

    def plan(self, n):
        """The plan of n steps from u."""
        if (n, id(self.u)) not in self.sweeps:
            self.sweeps[n, id(self.u)] = self.grid.plan_sweep(step, self.u, self.v, n, **self.options)
        return self.sweeps[n, id(self.u)]

    def advance(self, n):
        """Advance to step n, and return the field (grid.local)."""
        if n > self.done:
            sweep = self.plan(n - self.done)
            sweep(self.stream)
            self.team.synchronize(self.stream)
            self.u, self.v = (self.u, self.v) if sweep.newest is self.u else (self.v, self.u)
        self.done = n
        return self.u


def eigenmode(grid, done):
    """(grid.own) float64 after ``done`` steps: half a wave in each dimension, which each step multiplies by a number."""
    angles = [math.pi / (n + 1) for n in grid.shape]
    x, y, z = (np.sin((i + 1) * angle) for i, angle in zip(grid.coordinates(), angles, strict=True))  # NumPy or CuPy
    return x * y * z * (1 - sum(math.sin(angle / 2) ** 2 for angle in angles) / 2) ** done


def plot(path, u, title):
    """Draw u (nx, ny, nz): a slice through the middle, and the warm points, cut open."""
    from matplotlib import colormaps, figure

    page = figure.Figure(figsize=(10, 4.6), layout="constrained")
    page.suptitle(title)
    flat, solid = page.add_subplot(1, 2, 1), page.add_subplot(1, 2, 2, projection="3d")
    image = flat.imshow(u[:, :, u.shape[2] // 2].T, origin="lower", cmap="inferno")
    flat.set(xlabel="x", ylabel="y")
    page.colorbar(image, ax=flat, label=f"u at z = {u.shape[2] // 2}")
    blocks = u[tuple(slice(None, None, -(-n // 40)) for n in u.shape)] / (u.max() or 1)
    warm = (blocks > 0.1) & (np.arange(blocks.shape[1])[:, None] > 0.4 * blocks.shape[1])
    solid.voxels(warm, facecolors=colormaps["inferno"](blocks))
    solid.set(xlabel="x", ylabel="y", zlabel="z", xticks=[], yticks=[], zticks=[])
    page.savefig(path)


def dims(text):
    """The type of --dims."""
    numbers = tuple(int(n) for n in text.split(","))
    if len(numbers) != 3 or min(numbers) < 0:
        raise ValueError
    return numbers


def parse():
    """The options of the command line."""
    parser = Parser(MPI.COMM_WORLD, prog="python -m apps.heat3d", description="Heat in a cube, on all PEs of the job.")
    add = parser.add_argument
    for axis in "xyz":
        text = f"number of points along {axis} (default: %(default)s)"
        add(f"--n{axis}", type=at_least(1), default=128, metavar="N", help=text)
    text = "number of steps, with those before a restart (default: %(default)s)"
    add("--niter", type=at_least(1), default=1000, metavar="N", help=text)
    text = "number of steps from a checkpoint, or from progress shown, to the next (default: %(default)s)"
    add("--every", type=at_least(1), default=200, metavar="N", help=text)
    text = "number of PEs along x, y and z; 0: the library chooses (default: 0,0,0)"
    add("--dims", type=dims, default=(0, 0, 0), metavar="X,Y,Z", help=text)
    add("--dtype", choices=("float32", "float64"), default="float64", help="dtype of the field (default: %(default)s)")
    text = "engine of the sweeps; auto: the engine that is predicted to be the fastest (default: %(default)s)"
    add("--engine", choices=("auto", "plain", "blocked", "resident"), default="auto", help=text)
    text = f"number of steps between two exchanges, and points of a halo (default: the engine chooses, at most {DEPTH})"
    add("--depth", type=at_least(1), metavar="N", help=text)
    text = "start with a known solution, and compare with it: PASS or FAIL (default: no)"
    add("--verify", action="store_true", help=text)
    add("--plot", metavar="FILE.png", help="file for a picture of the field (default: none)")
    text = "file for the field, written every --every steps, and FILE.h5.xdmf for ParaView (default: none)"
    add("--checkpoint", metavar="FILE.h5", help=text)
    add("--restart", action="store_true", help="continue from the file of --checkpoint (default: no)")
    options = parser.parse_args()
    if options.restart and not options.checkpoint:
        parser.error("--restart needs --checkpoint FILE.h5")
    return options


def make_grid(team, options):
    """The grid, with halos of DEPTH or --depth points, or as many points as the smallest part has."""
    shape = options.nx, options.ny, options.nz
    n_pes = team.grid(shape, options.dims).dims
    fewest = [n // p for n, p in zip(shape, n_pes, strict=True) if p > 1]
    return team.grid(shape, n_pes, halo=options.depth or min([DEPTH, *fewest]))


def main(options):
    """Run with these options.  Returns the exit status."""
    seconds, wrong = 0.0, 0.0
    with pennympi.init() as team:
        try:
            grid, first = make_grid(team, options), 0
        except ValueError as error:  # on all PEs
            fail(team.comm, str(error))
        x, y, z = ((i + 0.5) / n for i, n in zip(grid.coordinates(), grid.shape, strict=True))
        ball = (x - 0.4) ** 2 + (y - 0.4) ** 2 + (z - 0.6) ** 2 < 0.05  # 1 inside, else 0
        start = (eigenmode(grid, 0) if options.verify else ball).astype(options.dtype)
        if options.restart:
            u = grid.zeros(options.dtype)
            try:
                first = grid.load(options.checkpoint, u=u).get("done")
                if type(first) is not int or first < 0:
                    raise ValueError(f"{options.checkpoint} holds no number of steps, done")
            except (OSError, ValueError) as error:  # on all PEs
                fail(team.comm, f"--restart: {error}", FAILED)
            start = grid.interior(u)
        heat = Heat(team, grid, start, first, options.engine, options.depth)
        u, done, progress = heat.u, first, Progress(team.me, options.niter - first)
        while done < options.niter:
            done = min(done + options.every, options.niter)
            heat.plan(done - heat.done)  # compiles
            begin = time.perf_counter()
            u = heat.advance(done)
            seconds += time.perf_counter() - begin
            progress.show(done - first)
            if options.checkpoint:
                grid.save(options.checkpoint, u=u, done=done)
        progress.close()
        if options.verify:  # in each step, a sum of numbers that are not negative rounds to within 2 eps of itself
            right, kind = eigenmode(grid, done), np.finfo(options.dtype)
            wrong = abs(grid.interior(u) - right) / (4 * (done + 1) * (kind.eps * right + kind.tiny))
            wrong = team.comm.allreduce(float(wrong.max()), op=MPI.MAX)
        seconds = team.comm.allreduce(seconds, op=MPI.MAX)
        whole = grid.gather(u) if options.plot else None
        if team.me == 0:
            rate = math.prod(grid.shape) * (done - first) / (seconds or 1)
            title = f"{options.dtype} {grid.shape} over {grid.dims} PEs, steps {first} to {done}"
            print(f"{title}: {rate:.4g} points/s, {2e-9 * u.itemsize * rate:.4g} GB/s, {seconds:.4g} s", flush=True)
            if options.verify:
                print("PASS" if wrong <= 1 else "FAIL", f"error: {wrong:.2g} of what rounding can make", flush=True)
            if options.plot:
                plot(options.plot, whole, title)
    return int(not wrong <= 1)  # NaN is wrong


if __name__ == "__main__":
    raise SystemExit(main(parse()))
