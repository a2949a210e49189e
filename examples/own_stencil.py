"""Heat in a plate of two metals: sweeps of a formula of your own, with a field of conductivities, over all PEs.

mpirun -np 4 python examples/own_stencil.py
"""

import numpy as np

import pennympi
from pennympi.kernels.block import real

NY, NX, SWEEPS, RATE = 160, 192, 50, 0.2


def warm(here, south, north, west, east, rate, kappa):  # a point, its neighbours, a number, the coefficient there
    return here + rate * kappa * ((((south + north) + west) + east) - real(4) * here)


def warm_in_numpy(u, kappa):  # u (NY + 2, NX + 2), kappa (NY, NX)
    here = u[1:-1, 1:-1]
    around = ((u[:-2, 1:-1] + u[2:, 1:-1]) + u[1:-1, :-2]) + u[1:-1, 2:]
    return here + np.float32(RATE) * kappa * (around - np.float32(4) * here)


with pennympi.init() as team:
    grid = team.grid((NY, NX), periodic=(False, True), halo=2)
    u, v, kappa = (grid.zeros("float32") for _ in range(3))
    y, x = grid.coordinates()
    grid.interior(kappa)[...] = 0.5 + 0.5 * ((x // 32 + y // 32) % 2)
    for field in (u, v):  # where the grid ends, the halo holds the fixed values: 1 below, 0 above
        if grid.neighbour("x-") is None:
            grid.halo_of(field, "x-")[...] = 1
    sweep = grid.plan_sweep(warm, u, v, SWEEPS, norm=True, fields=(kappa,), args=(RATE,))
    sweep()  # 50 sweeps with all exchanges, in stream order
    team.synchronize()

    found, coefficients = grid.gather(sweep.newest), grid.gather(kappa)
    if team.me == 0:
        right = np.zeros((NY + 2, NX + 2), "float32")
        right[0] = 1
        for _ in range(SWEEPS):
            right[:, 0], right[:, -1] = right[:, -2], right[:, 1]
            right[1:-1, 1:-1] = warm_in_numpy(right, coefficients)
        wrong = int((found != right[1:-1, 1:-1]).sum())
        change = float(sweep.norm[0])
        print(f"{team.n_pes} PEs on {team.backend}: {SWEEPS} sweeps, change {change:.3e}, {wrong} points wrong")
        assert not wrong
