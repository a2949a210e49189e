"""y = A v on a grid of PEs, each with a tile of A: a team of each row adds up y, a team of each column adds up |y|^2.

mpirun -np 4 python examples/process_grid.py
"""

import numpy as np
from mpi4py import MPI

import pennympi

TILE = 96  # rows and columns of a PE's tile

with pennympi.init(MPI.COMM_WORLD) as world:  # the first team has all PEs; later ones any parts of it
    height, width = MPI.Compute_dims(world.n_pes, 2)  # 4 PEs: 2 x 2; 6 PEs: 3 x 2
    r, c = divmod(world.me, width)  # this PE's place
    in_row, in_column = world.comm.Split(r, c), world.comm.Split(c, r)
    with pennympi.init(in_row) as row, pennympi.init(in_column) as column:
        numbers = np.random.default_rng(7)
        a = numbers.integers(-3, 4, (height * TILE, width * TILE)).astype("float64")  # the whole matrix, on every PE
        v = numbers.integers(-3, 4, width * TILE).astype("float64")  # (width * TILE,)
        rows, columns = slice(r * TILE, (r + 1) * TILE), slice(c * TILE, (c + 1) * TILE)
        own_a, own_v = world.array(a[rows, columns]), world.array(v[columns])  # (TILE, TILE), (TILE,)

        y = (own_a * own_v).sum(axis=1)  # (TILE,), this tile's share
        row.allreduce(y)  # any array will do, not only a symmetric one
        square = (y * y).sum(keepdims=True)  # (1,), of this row's part of y
        column.allreduce(square)
        world.synchronize()

        expected = a @ v  # (height * TILE,), in whole numbers: no rounding, so no tolerance
        right = bool((y == world.array(expected[rows])).all() and square[0] == (expected**2).sum())
        right = all(world.gather(right))
        if world.me == 0:
            shape = f"{height} x {width} PEs on {world.backend}"
            print(f"{shape}: y = A v by rows, |y|^2 by columns, {'both right' if right else 'WRONG'}")
    in_row.Free()
    in_column.Free()
    assert right
