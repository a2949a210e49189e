"""From a level of multigrid to the next coarser one and back: full weighting, and linear interpolation.

Along each dimension coarse point I lies at fine point 2 I + shift: shift is 1 where the grid ends, 0 where it wraps.
Products are by powers of two, hence exact.
"""

from typing import NamedTuple

from pennympi.kernels.block import block, blocks, lanes, load, real, store

from ..records import Part


class Transfer(NamedTuple):
    """A fine part, as its kernel's ``Part`` has it, and the whole coarse grid.

    x, y, z:    global indices of the part's first own point, less the shifts
    cx, cy, cz: the first coarse points that lie in the part;  mx, my, mz: how many do
    start, plane, row: elements from the start of a coarse field to point (0, 0, 0), and from point to point
    """

    x: int
    y: int
    z: int
    cx: int
    cy: int
    cz: int
    mx: int
    my: int
    mz: int
    start: int
    c_plane: int
    c_row: int


def weighted(d, at):
    """1, 2, 1 along z."""
    return (load(d, at - 1) + load(d, at + 1)) + real(2.0) * load(d, at)


def weighted_plane(d, at, row):
    """The same along y of ``weighted``."""
    return (weighted(d, at - row) + weighted(d, at + row)) + real(2.0) * weighted(d, at)


def restrict(ctx, part: Part, t: Transfer, coarse, d):
    """coarse = 4 times the weighted mean of d around each coarse point of this part.

    The factor is that of the operator, which is -laplace times h**2.  The halo of d has come, its corners included.
    """
    for row in range(block(), t.mx * t.my, blocks()):
        cx, cy = t.cx + row // t.my, t.cy + row % t.my
        at = part.first + (2 * cx - t.x) * part.plane + (2 * cy - t.y) * part.row + 2 * t.cz - t.z
        to = t.start + cx * t.c_plane + cy * t.c_row + t.cz
        for i in lanes(0, t.mz):
            here = at + 2 * i
            sides = weighted_plane(d, here - part.plane, part.row) + weighted_plane(d, here + part.plane, part.row)
            box = sides + real(2.0) * weighted_plane(d, here, part.row)
            store(coarse, to + i, real(0.0625) * box + real(0.0))  # no -0, which a sum with zeros would not keep


def between(coarse, at, odd):
    """The mean of two neighbours along z, or one of them twice."""
    return load(coarse, at) + load(coarse, at + odd)


def between_plane(coarse, at, odd, step):
    """The same along y of ``between``.  step: to the other neighbour"""
    return between(coarse, at, odd) + between(coarse, at + step, odd)


def prolong(ctx, part: Part, t: Transfer, z, coarse):
    """z += the coarse field between its points."""
    for row in range(block(), part.nx * part.ny, blocks()):
        x, y = t.x + row // part.ny, t.y + row % part.ny
        at = part.first + row // part.ny * part.plane + row % part.ny * part.row
        to = t.start + (x >> 1) * t.c_plane + (y >> 1) * t.c_row
        plane, step = (x & 1) * t.c_plane, (y & 1) * t.c_row
        for i in lanes(0, part.nz):
            here, odd = to + ((t.z + i) >> 1), (t.z + i) & 1
            mean = between_plane(coarse, here, odd, step) + between_plane(coarse, here + plane, odd, step)
            store(z, at + i, load(z, at + i) + real(0.125) * mean)
