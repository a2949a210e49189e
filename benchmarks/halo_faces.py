"""The faces of a part of a grid, for other ways to exchange them, and the check of an exchange of random points."""

import time
from typing import NamedTuple

from mpi4py import MPI

from pennympi.bench.memory import array_module

SIDES = [axis + sign for axis in "xyz" for sign in "-+"]
OTHER = {"-": "+", "+": "-"}


def opposite(side):
    return side[0] + OTHER[side[1]]


class Face(NamedTuple):
    """Where the points at a side go, and what comes to the halo at the opposite side.

    mine, halo: views;  to, source: ranks, MPI.PROC_NULL where the grid ends
    """

    mine: object
    halo: object
    to: int
    source: int


def faces(grid, u):
    """The six faces of a field, in the order of SIDES, which is that of the messages of two PEs, too."""
    found = []
    for side in SIDES:
        ranks = [grid.neighbour(one) for one in (side, opposite(side))]
        to, source = (MPI.PROC_NULL if one is None else one for one in ranks)
        found.append(Face(grid.boundary(u, side), grid.halo_of(u, opposite(side)), to, source))
    return found


def checked(team, grid, u, name, exchange):
    """Exchange random points, and compare every point of the halo with the whole grid's.  exchange takes no stream."""
    comm, xp = team.comm, array_module(team)
    points = xp.random.default_rng(comm.bcast(time.time_ns() & 0xFFFFFFFF)).random(grid.shape)
    u[...] = -1
    grid.interior(u)[...] = points[tuple(slice(f, f + n) for f, n in zip(grid.first, grid.own, strict=True))]
    team.synchronize(), comm.Barrier()
    exchange()
    team.synchronize(), comm.Barrier()
    ends = zip(grid.first, grid.own, grid.shape, strict=True)
    right = points[xp.ix_(*(xp.arange(first - 1, first + n + 1) % whole for first, n, whole in ends))]
    pairs = [(grid.interior(u), grid.interior(right))]
    for side in SIDES:
        halo = grid.halo_of(u, side)
        pairs.append((halo, grid.halo_of(right, side) if grid.neighbour(side) is not None else xp.full_like(halo, -1)))
    if not comm.allreduce(all(bool((one == other).all()) for one, other in pairs), MPI.LAND):
        raise SystemExit(f"{name}: a halo of {grid} is wrong")
