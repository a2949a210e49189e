"""Laplace's equation on several GPUs or CPUs, the communication hidden:  mpirun -np 4 python -m apps.jacobi.textbook

    stream | inner rows ................................................... | next sweep
    push   | first and last row | put_signal to both | wait_signal from both |

Columns 0 and nx-1 are fixed, rows 1..ny-2 form a ring.  Each PE owns `mine` of them; they are rows 1..mine of a field.
Rows 0 and mine+1, the halo, are copies of the nearest rows of the PEs above and below, which put them there.
"""

import argparse
import math
import time

import pennympi
from pennympi.kernels.block import block, lanes, load, real, store

ROWS, COLUMNS, SWEEPS = 4, 1024, 10  # of a tile, which a block of threads sweeps; sweeps of a CUDA graph, an even number


def mean(old, at, below, above):  # this order decides the last bits; no sum follows the product, which a GPU would fuse
    return real(0.25) * (((load(old, at + 1) + load(old, at - 1)) + below) + above)


def sweep_tiles(ctx, new, old, start, stop, nx):  # rows start..stop-1;  new, old: (height, nx)
    across = (nx + COLUMNS - 1) // COLUMNS
    top, left = start + block() // across * ROWS, block() % across * COLUMNS
    for x in lanes(max(left, 1), min(left + COLUMNS, nx - 1)):  # neighbouring threads read neighbouring addresses
        at, i, j, k = top * nx + x, nx * min(1, stop - 1 - top), nx * min(2, stop - 1 - top), nx * min(3, stop - 1 - top)
        a, b, c = load(old, at - nx), load(old, at), load(old, at + nx)
        d, e, f = load(old, at + i + nx), load(old, at + j + nx), load(old, at + k + nx)  # not after row stop
        p, q = mean(old, at, c, a), mean(old, at + i, d, b)
        r, s = mean(old, at + j, e, c), mean(old, at + k, f, d)
        for n in range(ROWS):  # stores come last, so that all loads are under way at the same time
            if top + n < stop:
                store(new, at + n * nx, (p, q, r, s)[n])


def solve(team, nx, ny, niter, nccheck=100, tol=1e-8, dtype="float32"):
    """Sweep niter times, or until the norm of the change, taken every nccheck sweeps, is at most tol.  Collective.

    Returns this PE's rows (mine, nx), a view; the norms [(sweeps done, norm), ...]; and the seconds that the sweeps took.
    """
    n, up, down = team.n_pes, (team.me - 1) % team.n_pes, (team.me + 1) % team.n_pes
    rows = [(ny - 2 + pe) // n for pe in range(n)]  # of each PE
    assert min(rows) > 0 and nx > 2, f"a grid of {ny} x {nx} points is too small for {n} PEs"
    mine, before, height = rows[team.me], sum(rows[: team.me]), max(rows) + 2
    a, b = fields = [team.zeros((height, nx), dtype) for _ in range(2)]  # symmetric: of one shape on all PEs
    sides = team.array([math.sin(2 * math.pi * (before + y) / (ny - 1)) for y in range(height)], dtype)  # (height,)
    arrived, total = team.signals(4), team.zeros(1, "float64")  # (2 fields * 2 neighbours,), (1,)
    kernel, stream, push = team.kernel(sweep_tiles, dtype), team.stream(), team.stream(priority="high")
    across, inner = -(-nx // COLUMNS), max(1, -(-(mine - 2) // ROWS))  # tiles

    def sweep(k):  # enqueues sweep k, from field k % 2 to the other, and its exchange
        old, new, words = fields[k % 2], fields[(k + 1) % 2], arrived[k % 2 * 2 : k % 2 * 2 + 2]
        push.wait_event(stream.record())
        kernel(across, new, old, 1, 2, nx, stream=push)
        kernel(across, new, old, mine, mine + 1, nx, stream=push)
        kernel(across * inner, new, old, 2, mine, nx, stream=stream)
        # A put overwrites a halo that the neighbour last read in sweep k-1, for its first or last row.  Its signal of k-1
        # came after that row, and our sweep k-1 ended with the wait for that signal: so two fields are enough.
        team.put_signal(new[rows[up] + 1], new[1], words[1:2], 1, up, stream=push)
        team.put_signal(new[0], new[mine], words[0:1], 1, down, stream=push)
        team.wait_signal(words[0:1], 1, source=up, stream=push)
        team.wait_signal(words[1:2], 1, source=down, stream=push)
        with push:  # A graph sends the same 1 each time, so the words go back to 0.  The neighbours set them again in
            words[:] = 0  # sweep k+2, when they have waited for our signals of sweep k+1, which come after this.
        stream.wait_event(push.record())

    def norm():
        team.synchronize(stream)
        total[:] = ((a - b)[1 : mine + 1] ** 2).sum(dtype="float64")
        return math.sqrt(team.allreduce(total)[0])

    norm(), sweep(0), sweep(1), team.synchronize(stream)  # of zeros, which stay zeros: compiles all before the capture
    if team.backend == "cuda":
        stream.begin_capture()
        for k in range(SWEEPS):
            sweep(k)
        graph = stream.end_capture()
    a[:, 0] = a[:, -1] = b[:, 0] = b[:, -1] = sides
    team.barrier(), team.synchronize()
    done, norms, start = 0, [], time.perf_counter()
    while done < niter and (not norms or norms[-1][1] > tol):
        whole = team.backend == "cuda" and done % 2 == 0 and SWEEPS <= min(niter - done, nccheck - done % nccheck)
        graph.launch(stream) if whole else sweep(done)
        done += SWEEPS if whole else 1
        if done % nccheck == 0 or done == niter:
            norms.append((done, norm()))
    return fields[done % 2][1 : mine + 1], norms, time.perf_counter() - start


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    for name, value in {"nx": 512, "ny": 512, "niter": 1000, "nccheck": 100, "tol": 1e-8}.items():
        parser.add_argument(f"--{name}", type=type(value), default=value)
    options = vars(parser.parse_args())
    with pennympi.init() as team:
        _, norms, seconds = solve(team, **options)
        if team.me == 0:
            print("{} sweeps, norm {:.6e}".format(*norms[-1]), f"{1e6 * seconds / norms[-1][0]:.1f} us a sweep", sep=", ")
