"""Heat in a plate of two metals: sweeps of a formula of your own, with a field of conductivities, over all PEs.

mpirun -np 4 python examples/own_stencil.py
"""

import numpy as np

import pennympi
from pennympi.kernels.block import real

NX, NY, SWEEPS, RATE = 160, 192, 50, 0.2


# the point, its neighbours in x and y, a number, the coefficient at the point
def warm(u, x_minus, x_plus, y_minus, y_plus, rate, kappa):
    return u + rate * kappa * ((((x_minus + x_plus) + y_minus) + y_plus) - real(4) * u)


with pennympi.init() as team:
    grid = team.grid((NX, NY), periodic=(False, True), halo=2)
    u, v, kappa = (grid.zeros("float32") for _ in range(3))
    x, y = grid.coordinates()
    grid.interior(kappa)[...] = 0.5 + 0.5 * ((x // 32 + y // 32) % 2)
    for field in (u, v):  # at the ends of the grid the halo holds the fixed values: 1 before the first x, else 0
        if grid.neighbour("x-") is None:
            grid.halo_of(field, "x-")[...] = 1
    sweep = grid.plan_sweep(warm, u, v, SWEEPS, norm=True, fields=(kappa,), args=(RATE,))
    sweep()  # 50 sweeps with all exchanges, in stream order

    computed, k, number = grid.gather(sweep.newest), grid.gather(kappa), np.float32
    if team.me == 0:
        a = np.pad(np.zeros((NX, NY), "float32"), 1)
        a[0] = 1
        for _ in range(SWEEPS):  # the same in NumPy
            a[:, 0], a[:, -1] = a[:, -2], a[:, 1]
            inner, neighbours = a[1:-1, 1:-1], ((a[:-2, 1:-1] + a[2:, 1:-1]) + a[1:-1, :-2]) + a[1:-1, 2:]
            a[1:-1, 1:-1] = inner + number(RATE) * k * (neighbours - number(4) * inner)
        wrong, change = int((computed != a[1:-1, 1:-1]).sum()), float(sweep.norm[0])
        print(f"{team.n_pes} PEs on {team.backend}: {SWEEPS} sweeps, change {change:.3e}, {wrong} points wrong")
        assert not wrong
