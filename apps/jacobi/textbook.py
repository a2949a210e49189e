"""Laplace's equation on several GPUs or CPUs, the communication hidden:  mpirun -np 4 python -m apps.jacobi.textbook

    stream | inner rows ................................................... | next sweep
    push   | first and last row | put_signal to both | wait_signal from both |

Columns 0 and nx-1 are fixed, rows 1..ny-2 form a ring.  Each PE has `own` of these rows, as rows 1..own of a field.
Rows 0 and own+1 are the halo, into which the PEs above and below put their nearest rows."""

import argparse
import math
import time

import pennympi
from pennympi.kernels.block import block, lanes, load, real, store

ROWS, COLUMNS, SWEEPS = 4, 1024, 10  # rows and columns of a block's tile; sweeps of a CUDA graph, an even number


def mean(old, m, below, above):  # this order decides the last bits; a GPU fuses a product only with a sum that follows it
    return real(0.25) * (((load(old, m + 1) + load(old, m - 1)) + below) + above)


def sweep_tiles(ctx, new, old, start, stop, nx):  # rows start..stop-1;  new, old: (height, nx)
    across = (nx + COLUMNS - 1) // COLUMNS
    top, left = start + block() // across * ROWS, block() % across * COLUMNS
    for x in lanes(max(left, 1), min(left + COLUMNS, nx - 1)):  # neighbouring threads read neighbouring addresses
        m, i, j, k = top * nx + x, nx * min(1, stop - 1 - top), nx * min(2, stop - 1 - top), nx * min(3, stop - 1 - top)
        a, b, c = load(old, m - nx), load(old, m), load(old, m + nx)
        d, e, f = load(old, m + i + nx), load(old, m + j + nx), load(old, m + k + nx)  # no row after row ``stop``
        p, q = mean(old, m, c, a), mean(old, m + i, d, b)
        r, s = mean(old, m + j, e, c), mean(old, m + k, f, d)
        for n in range(ROWS):  # stores come last, so that all loads are under way at the same time
            if top + n < stop:
                store(new, m + n * nx, (p, q, r, s)[n])


def solve(team, nx, ny, niter, nccheck=100, tol=1e-8, dtype="float32"):
    """Sweep niter times, or until the norm of the change, computed every nccheck sweeps, is at most tol.  Collective.
    Returns this PE's rows (own, nx), a view; the norms [(number of sweeps, norm), ...]; and the seconds of the sweeps."""
    n, up, down = team.n_pes, (team.me - 1) % team.n_pes, (team.me + 1) % team.n_pes
    rows = [(ny - 2 + pe) // n for pe in range(n)]  # number of rows of each PE
    assert min(rows) > 0 and nx > 2, f"a grid of {ny} x {nx} points is too small for {n} PEs"
    own, before, height = rows[team.me], sum(rows[: team.me]), max(rows) + 2
    a, b = fields = [team.zeros((height, nx), dtype) for _ in range(2)]  # symmetric arrays have one shape on all PEs
    sides = team.array([math.sin(2 * math.pi * (before + y) / (ny - 1)) for y in range(height)], dtype)  # (height,)
    arrived, total = team.signals(4), team.zeros(1, "float64")  # (2 fields * 2 neighbours,), (1,)
    kernel, stream, push = team.kernel(sweep_tiles, dtype), team.stream(), team.stream(priority="high")
    across, inner = -(-nx // COLUMNS), max(1, -(-(own - 2) // ROWS))  # number of tiles of a row, and of rows of tiles

    def sweep(k):  # enqueues sweep k, from field k % 2 to the other field, and its exchange
        old, new, words = fields[k % 2], fields[(k + 1) % 2], arrived[k % 2 * 2 : k % 2 * 2 + 2]
        push.wait_event(stream.record())
        kernel(across, new, old, 1, 2, nx, stream=push)
        kernel(across, new, old, own, own + 1, nx, stream=push)
        kernel(across * inner, new, old, 2, own, nx, stream=stream)
        # A put overwrites a halo that the neighbour last read in sweep k-1, for its first or last row.  After that row it
        # sent its signal of k-1, and sweep k-1 of this PE ended with the wait for that signal: so two fields suffice.
        team.put_signal(new[rows[up] + 1], new[1], words[1:2], 1, up, stream=push)
        team.put_signal(new[0], new[own], words[0:1], 1, down, stream=push)
        team.wait_signal(words[0:1], 1, source=up, stream=push)
        team.wait_signal(words[1:2], 1, source=down, stream=push)
        with push:  # A graph sends the same 1 each time, so the words go back to 0.  The neighbours set them again in
            words[:] = 0  # sweep k+2, after their wait for this PE's signals of sweep k+1, which come after this line.
        stream.wait_event(push.record())

    def norm():
        team.synchronize(stream)
        total[:] = ((a - b)[1 : own + 1] ** 2).sum(dtype="float64")
        return math.sqrt(team.allreduce(total)[0])

    for k in (0, 1):  # sweeps of zeros, which stay zeros: they compile everything before the capture
        sweep(k)
    norm()
    if team.backend == "cuda":
        stream.begin_capture()
        for k in range(SWEEPS):
            sweep(k)
        graph = stream.end_capture()
    a[:, 0] = a[:, -1] = b[:, 0] = b[:, -1] = sides
    team.barrier()
    team.synchronize()
    done, norms, start = 0, [], time.perf_counter()
    while done < niter and (not norms or norms[-1][1] > tol):
        by_graph = team.backend == "cuda" and done % 2 == 0 and SWEEPS <= min(niter - done, nccheck - done % nccheck)
        graph.launch(stream) if by_graph else sweep(done)
        done += SWEEPS if by_graph else 1
        if done % nccheck == 0 or done == niter:
            norms.append((done, norm()))
    return fields[done % 2][1 : own + 1], norms, time.perf_counter() - start


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    for name, value in {"nx": 512, "ny": 512, "niter": 1000, "nccheck": 100, "tol": 1e-8}.items():
        parser.add_argument(f"--{name}", type=type(value), default=value)
    options = vars(parser.parse_args())
    with pennympi.init() as team:
        _, norms, seconds = solve(team, **options)
        if team.me == 0 and norms:
            print("{} sweeps, norm {:.6e}".format(*norms[-1]), f"{1e6 * seconds / norms[-1][0]:.1f} us a sweep", sep=", ")
