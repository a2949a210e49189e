"""Heat in a plate of two metals: sweeps of a formula of your own, with a field of conductivities, over all PEs.

mpirun -np 4 python examples/own_stencil.py
"""

import numpy as np

import pennympi
from pennympi.kernels.block import real

NY, NX, SWEEPS, RATE = 160, 192, 50, 0.2


# The parameters of a formula: a point, its neighbours, numbers, the coefficient at the point.
def warm(centre, south, north, west, east, rate, kappa):
    return centre + rate * kappa * ((((south + north) + west) + east) - real(4) * centre)


with pennympi.init() as team:
    grid = team.grid((NY, NX), periodic=(False, True), halo=2)
    u, v, kappa = (grid.zeros("float32") for _ in range(3))
    y, x = grid.coordinates()
    grid.interior(kappa)[...] = 0.5 + 0.5 * ((x // 32 + y // 32) % 2)
    for field in (u, v):  # where the grid ends, the halo holds the fixed values: 1 at the first row, else 0
        if grid.neighbour("x-") is None:
            grid.halo_of(field, "x-")[...] = 1
    sweep = grid.plan_sweep(warm, u, v, SWEEPS, norm=True, fields=(kappa,), args=(RATE,))
    sweep()  # 50 sweeps with all exchanges, in stream order

    result, k, number = grid.gather(sweep.newest), grid.gather(kappa), np.float32
    if team.me == 0:
        a = np.pad(np.zeros((NY, NX), "float32"), 1)
        a[0] = 1
        for _ in range(SWEEPS):  # the same in NumPy
            a[:, 0], a[:, -1] = a[:, -2], a[:, 1]
            centre, around = a[1:-1, 1:-1], ((a[:-2, 1:-1] + a[2:, 1:-1]) + a[1:-1, :-2]) + a[1:-1, 2:]
            a[1:-1, 1:-1] = centre + number(RATE) * k * (around - number(4) * centre)
        wrong, change = int((result != a[1:-1, 1:-1]).sum()), float(sweep.norm[0])
        print(f"{team.n_pes} PEs on {team.backend}: {SWEEPS} sweeps, change {change:.3e}, {wrong} points wrong")
        assert not wrong
