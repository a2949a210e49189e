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

import pennympi
from pennympi.kernels.block import block, lanes, load, real, store

STEPS, BY_ROWS, BY_COLUMNS = 10, (4, 256), (8, 4)  # of a CUDA graph, an even number; planes and rows of a block's tile


def stepped(before, after, above, below, left, right, here):  # a point's new value, from the six beside it and itself
    return real(0.125) * ((((before + after) + (above + below)) + (left + right)) + (here + here))


def four(old, at, row):  # points of four rows
    return load(old, at), load(old, at + row), load(old, at + 2 * row), load(old, at + 3 * row)


def step_by_rows(ctx, new, old, x0, y0, z0, x1, y1, z1, plane, row, planes, down):  # points x0..x1-1, y0..y1-1, z0..z1-1
    x, y = x0 + block() // down * planes, y0 + block() % down * 256  # plane, row: elements to the next point in x, in y
    for z in range(z0, z1, 128):
        for j in lanes(y, min(y + 256, y1)):
            for i in range(x, min(x + planes, x1)):
                for at in range(i * plane + j * row + z, i * plane + j * row + min(z + 128, z1)):
                    x_and_y = load(old, at - plane), load(old, at + plane), load(old, at - row), load(old, at + row)
                    store(new, at, stepped(*x_and_y, load(old, at - 1), load(old, at + 1), load(old, at)))


def step_by_columns(ctx, new, old, x0, y0, z0, x1, y1, z1, plane, row, planes, down):
    x, y = min(x0 + block() // down * planes, x1 - planes), min(y0 + block() % down * 4, y1 - 4)  # some points twice
    for k in lanes(z0, z1):  # neighbouring threads read neighbouring addresses
        at, end = x * plane + y * row + k, (x + planes) * plane + y * row + k
        before, here = four(old, at - plane, row), four(old, at, row)
        while at < end:  # all loads of four points come before their first store, to be under way at the same time
            after, left, right = four(old, at + plane, row), four(old, at - 1, row), four(old, at + 1, row)
            sides = load(old, at - row), *here, load(old, at + 4 * row)
            for r in range(4):
                store(new, at + r * row, stepped(before[r], after[r], sides[r], sides[r + 2], left[r], right[r], here[r]))
            before, here, at = here, after, at + plane


def compute(team, kernels, new, old, first, stop, stream):  # points first..stop-1 of new from old, both (grid.local)
    n, (_, ly, lz) = [high - low for low, high in zip(first, stop, strict=True)], old.shape
    by_columns = team.backend == "cuda" and max(n[:2]) >= 4 and n[2] >= 16
    x, y = (1, 0) if by_columns and n[1] < 4 else (0, 1)  # a sum is the same with x and y exchanged
    planes, down = min(n[x], (BY_ROWS, BY_COLUMNS)[by_columns][0]), -(-n[y] // (BY_ROWS, BY_COLUMNS)[by_columns][1])
    box = (first[x], first[y], first[2], stop[x], stop[y], stop[2], (ly * lz, lz)[x], (ly * lz, lz)[y])
    kernels[by_columns](-(-n[x] // planes) * down, new, old, *box, planes, down, stream=stream)


def solver(team, grid, start, done=0, overlap=True):
    """A function that goes on to step n > done and returns the field (grid.local).  start: (grid.own).  Collective."""
    fields = [grid.zeros(start.dtype) for _ in range(2)]  # whose halo beyond the cube stays 0
    kernels = [team.kernel(one, start.dtype) for one in (step_by_rows, step_by_columns)]
    exchanges, stream, on_gpu = [grid.plan_exchange(u) for u in fields], team.stream(), team.backend == "cuda"

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
        middle = (0.4, 0.4, 0.6)
        x, y, z = (((i + 0.5) / n - m) ** 2 for i, n, m in zip(grid.coordinates(), grid.shape, middle, strict=True))
        start = (eigenmode(grid, 0) if given.verify else x + y + z < 0.05).astype(given.dtype)  # 1 in a ball, else 0
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
            wrong = team.allreduce(float(wrong.max()), op="max")
        seconds, whole = team.allreduce(seconds, op="max"), grid.gather(u) if given.plot else None
        if team.me == 0:
            rate = math.prod(grid.shape) * (done - first) / seconds
            told = f"{given.dtype} {grid.shape} over {grid.dims} PEs, steps {first} to {done}"
            print(f"{told}: {rate:.4g} points/s, {2e-9 * u.itemsize * rate:.4g} GB/s, {seconds:.4g} s", flush=True)
            if given.verify:
                print("PASS" if wrong <= 1 else "FAIL", f"error: {wrong:.2g} of what rounding can make", flush=True)
            if given.plot:
                plot(given.plot, whole, told)
    raise SystemExit(not wrong <= 1)  # NaN is wrong
