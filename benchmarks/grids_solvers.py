"""Parts of benchmarks/grids.py: steps of apps/heat3d, and iterations of apps/poisson beside CuPy's own."""

import importlib
import math
import statistics
import time

import numpy as np
import poisson
import poisson_nccl
from mpi4py import MPI

from apps.heat3d import blocked
from apps.poisson import manufactured
from apps.poisson.problem import Problem
from apps.poisson.variants import TABLE
from apps.program.copy_rate import copy_rate

heat3d = importlib.import_module("apps.heat3d.__main__")
BURST_S, BURSTS = 0.1, 7
NEVER = 1 << 62  # steps of a CUDA graph that no run reaches
CHECK = 50  # iterations of a round of CG


def slowest(comm, us):
    """The median of bursts, each that of the slowest PE.  Collective."""
    return statistics.median(comm.allreduce(one, op=MPI.MAX) for one in us)


# Heat ----------------------------------------------------------------------------------
def heat(team):
    """The large cube, with and without overlap and CUDA graph, and blocked in time, which small ones gain from, too."""
    on_gpu, p = team.backend == "cuda", team.n_pes
    n, small = (512, 64) if on_gpu else (32, 16)
    for dtype in ("float32", "float64"):
        for overlap in (True, False) if p > 1 else (False,):
            yield f"{n}^3 {dtype}", lambda *, kind=(n, dtype, overlap): stepped(team, *kind)
    for size, halos in ((n, (2, 4)), (small, (1, 2, 4, 8))) if p > 1 else ():
        for halo in halos:
            yield f"{size}^3 blocked by {halo}", lambda *, kind=(size, "float32", halo): in_blocks(team, *kind)
    if p > 1:
        yield f"{small}^3 float32", lambda: stepped(team, small, "float32", True)


def cube(team, n, halo=1):
    """A grid cut along x, whose faces are planes."""
    return team.grid((n, n, n), (team.n_pes, 1, 1), halo=halo)


def row_of(n, dtype, form, us, copy, error):
    """A row: bytes are one read and one write of each point."""
    rate = 2 * np.dtype(dtype).itemsize * n**3 / us * 1e6
    row = {"n": n, "dtype": dtype, "form": form, "us": us, "GB_per_s": rate / 1e9, "error": error}
    return row | ({"copy_GB_per_s": copy / 1e9, "share_of_copy": rate / copy} if copy else {})


def error_of(team, grid, u, done):
    """The largest difference from the exact mode, over what rounding can make; more than 1 is wrong.  Collective."""
    right, kind = heat3d.eigenmode(grid, done), np.finfo(str(u.dtype))
    wrong = abs(grid.interior(u) - right) / (4 * (done + 1) * (kind.eps * right + kind.tiny))
    return team.comm.allreduce(float(wrong.max()), op=MPI.MAX)


def stepped(team, n, dtype, overlap):
    """Rows of heat3d's solver: in CUDA graphs, and on GPUs without.  Collective."""
    grid = cube(team, n)
    advance = heat3d.solver(team, grid, heat3d.eigenmode(grid, 0).astype(dtype), 0, overlap)
    done, us = 2 * heat3d.STEPS, {}
    advance(done)
    in_graph = heat3d.STEPS
    for form in ("graph", "eager") if team.backend == "cuda" else ("eager",):
        heat3d.STEPS = in_graph if form == "graph" else NEVER
        count = steps_of_burst(team, advance, done, in_graph)
        done += 2 * in_graph
        found = []
        for _ in range(BURSTS):
            team.comm.Barrier()
            start_s = time.perf_counter()
            advance(done + count)
            found.append((time.perf_counter() - start_s) / count * 1e6)
            done += count
        us[form] = slowest(team.comm, found)
    heat3d.STEPS = in_graph
    error = error_of(team, grid, advance(done), done)
    if error > 1:
        raise SystemExit(f"heat of {n}^3 {dtype} is wrong: {error}")
    u, other = advance(done), advance(done + 1)
    copy = copy_rate(team, u, other)
    del advance
    team.synchronize(), team.comm.Barrier()
    team.free(u), team.free(other)
    parts = "overlap" if overlap else "one part"
    return [row_of(n, dtype, f"{parts}, {form}", one, copy, error) for form, one in us.items()]


def steps_of_burst(team, advance, done, in_graph):
    """An even number of steps, of whole graphs, that take about BURST_S; 2 * in_graph steps are done.  Collective."""
    start_s = time.perf_counter()
    advance(done + 2 * in_graph)
    each_s = team.comm.allreduce(time.perf_counter() - start_s, op=MPI.MAX) / (2 * in_graph)
    return in_graph * max(2, min(1000, int(BURST_S / each_s / in_graph)))


def in_blocks(team, n, dtype, halo):
    """A row of heat3d's second file: as many steps after an exchange as the halo is wide.  Collective."""
    grid = cube(team, n, halo)
    start = heat3d.eigenmode(grid, 0).astype(dtype)
    count = halo * max(1, (400 if n < 512 else 96) // halo)
    if team.backend == "host":
        count = 2 * halo
    found = []
    for _ in range(3):
        u, seconds = blocked.solve(team, grid, start, count)
        found.append(seconds / count * 1e6)
    error = error_of(team, grid, u, count)
    if error > 1:
        raise SystemExit(f"blocked heat of {n}^3 {dtype} is wrong: {error}")
    return [row_of(n, dtype, f"blocked by {halo}, eager", slowest(team.comm, found), None, error)]


# Conjugate gradients -------------------------------------------------------------------
def conjugate_gradients(team):
    """Every variant of apps/poisson, and CuPy's solver on one GPU, at each size; the bits of u are compared."""
    for n in (64, 128, 256) if team.backend == "cuda" else (16, 24):
        problem, bits = Problem((n, n, n), (False,) * 3, "float64", 0.0, 1 << 30, CHECK, 0, "none"), []
        for variant in TABLE:
            yield (
                f"{variant} at {n}^3",
                lambda problem=problem, variant=variant, bits=bits: variant_row(team, problem, variant, bits),
            )
        yield f"cupyx.scipy.sparse.linalg.cg at {n}^3", lambda problem=problem: [cupys(team, problem)]


def variant_row(team, problem, variant, bits):
    """A row of benchmarks/poisson.py.  bits: of u of the variants so far.  Collective."""
    if reason := TABLE[variant].refuse(team, problem):
        return [{"shape": problem.shape, "variant": variant, "refused": reason}]
    try:
        row = poisson.row_of(team, problem, variant, 10 if team.backend == "cuda" else 3)
    except Exception as error:  # of many types, on all PEs: this NCCL can't be captured
        if variant != poisson_nccl.NAME:
            raise
        return [{"shape": problem.shape, "variant": variant, "refused": f"{type(error).__name__}: {error}"}]
    bits.append(row["crc"])
    return [row | {"same_bits": len(set(bits)) == 1}]


def seven_points(problem, xp, sparse):
    """The matrix of apps/poisson's kernels in compressed rows, with int32 indices, 6 on the diagonal and -1 beside it."""
    nx, ny, nz = problem.shape
    n = nx * ny * nz
    at = xp.arange(n, dtype="int32")
    x, y, z = at // (ny * nz), at // nz % ny, at % nz
    there = xp.stack([x > 0, y > 0, z > 0, at >= 0, z < nz - 1, y < ny - 1, x < nx - 1], axis=1)
    columns = at[:, None] + xp.array([-ny * nz, -nz, -1, 0, 1, nz, ny * nz], "int32")
    values = xp.broadcast_to(xp.array([-1.0, -1.0, -1.0, 6.0, -1.0, -1.0, -1.0]), columns.shape)
    rows = xp.concatenate([xp.zeros(1, "int32"), xp.cumsum(there.sum(axis=1)).astype("int32")])
    return sparse.csr_matrix((values[there], columns[there], rows), shape=(n, n))


def cupys(team, problem):
    """The row of CuPy's conjugate gradients on the GPU of PE 0, of the same matrix and right-hand side.  Collective."""
    row = {"shape": problem.shape, "variant": "cupyx.scipy.sparse.linalg.cg", "GPUs": 1}
    try:
        if team.me == 0 and team.backend == "cuda":
            row |= timed_cupy(problem)
        elif team.backend != "cuda":
            row["refused"] = "CuPy needs GPUs"
    except Exception as error:  # of many types: CuPy's solver may lack a library here
        row["refused"] = f"{type(error).__name__}: {error}"
    return team.comm.bcast(row)


def timed_cupy(problem):
    """us of an iteration, and whether it converges, of cupyx.scipy.sparse.linalg.cg."""
    import inspect

    import cupy
    from cupyx.scipy import sparse
    from cupyx.scipy.sparse.linalg import cg

    matrix = seven_points(problem, cupy, sparse)
    # The kernels' operator is -laplace times problem.scale: 6 and -1 where all spacings are equal.
    every = [cupy.asarray(one) for g in manufactured.axes(problem) for one in (g[0], g[1])]
    x, y, z = (slice(None), None, None), (None, slice(None), None), (None, None, slice(None))
    gx, hx, gy, hy, gz, hz = every
    f = -problem.scale * (hx[x] * gy[y] * gz[z] + gx[x] * hy[y] * gz[z] + gx[x] * gy[y] * hz[z]).ravel()
    tol = "rtol" if "rtol" in inspect.signature(cg).parameters else "tol"
    found = []
    cg(matrix, f, maxiter=CHECK, atol=0.0, **{tol: 1e-300})
    for _ in range(5):
        cupy.cuda.Device().synchronize()
        start_s = time.perf_counter()
        cg(matrix, f, maxiter=CHECK, atol=0.0, **{tol: 1e-300})
        cupy.cuda.Device().synchronize()
        found.append((time.perf_counter() - start_s) / CHECK * 1e6)
    u, info = cg(matrix, f, maxiter=20 * max(problem.shape), atol=0.0, **{tol: 1e-8})
    norm = float(cupy.linalg.norm(f - matrix @ u) / cupy.linalg.norm(f))
    exact = (gx[x] * gy[y] * gz[z]).ravel()
    error = float(abs(u - exact).max() / abs(exact).max())
    if info or not norm < 1e-7 or not math.isfinite(error):
        raise ValueError(f"it does not converge: residual {norm}, info {info}")
    return {"us": statistics.median(found), "residual": norm, "error": error, "nonzeros": int(matrix.nnz)}
