"""A ring of rows, smoothed again and again; each PE has some of them and gets its neighbours' edge rows by puts.

mpirun -np 4 python examples/halo_loop.py
"""

import numpy as np
from mpi4py import MPI

import pennympi

ROWS, COLUMNS, SWEEPS = 32, 256, 100  # ROWS: of each PE


def smoothed(above, here, below):
    return (above + 2 * here + below) / 4


with pennympi.init(MPI.COMM_WORLD) as team:
    me, n = team.me, team.n_pes
    up, down = (me - 1) % n, (me + 1) % n
    whole = np.random.default_rng(7).random((n * ROWS, COLUMNS))  # (n * ROWS, COLUMNS), the same on every PE
    mine = range(me * ROWS, (me + 1) * ROWS)
    start = whole.take(range(mine.start - 1, mine.stop + 1), axis=0, mode="wrap")  # (ROWS + 2, COLUMNS)
    fields = team.array(start), team.array(start)  # (ROWS + 2, COLUMNS); the first and the last row are the halo
    arrived = team.signals(4)  # two words for each neighbour, used in turn: a word carries one message at a time

    for k in range(SWEEPS):  # all of it in stream order: on a GPU the host only enqueues
        old, new = fields[k % 2], fields[(k + 1) % 2]
        from_up, from_down = arrived[k % 2 : k % 2 + 1], arrived[2 + k % 2 : 3 + k % 2]
        new[1:-1] = smoothed(old[:-2], old[1:-1], old[2:])
        # These puts overwrite what the neighbours last read in sweep k-1. After that they sent signals, for which this
        # PE has waited. So two fields are enough, and no barrier is needed.
        team.put_signal(new[-1], new[1], from_down, k + 1, up)  # my first row is what my upper neighbour has below
        team.put_signal(new[0], new[-2], from_up, k + 1, down)
        team.wait_signal(from_up, k + 1, source=up)
        team.wait_signal(from_down, k + 1, source=down)
    team.synchronize()

    for _ in range(SWEEPS):
        whole = smoothed(np.roll(whole, 1, axis=0), whole, np.roll(whole, -1, axis=0))
    expected = team.array(whole[mine])  # (ROWS, COLUMNS)
    error = max(team.gather(float(abs(fields[SWEEPS % 2][1:-1] - expected).max())))
    if me == 0:
        print(f"{n} PEs on {team.backend}: {SWEEPS} sweeps of {n * ROWS} rows, at most {error:.1e} beside one PE's")
    assert error < 1e-12
