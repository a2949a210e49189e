"""What an exchange of halos has to leave in the array of a PE, by NumPy's indexing of the whole grid."""

import math

import numpy as np


def with_halos(grid, pe, points, corners, untouched):
    """PE pe's array after an exchange: ``points`` of the whole grid; ``untouched`` where no point comes from.

    grid: a ``pennympi.stencil.grid.decomposition.Decomposition``
    """
    at, beyond, exists = [], [], []
    every = zip(grid.first(pe), grid.own(pe), grid.halo, grid.shape, grid.periodic, strict=True)
    for first, own, halo, n, wraps in every:
        index = np.arange(first - halo, first + own + halo)
        at.append(index % n)
        beyond.append(((index < first) | (index >= first + own)).astype(int))
        exists.append((np.full(index.size, wraps) | (index >= 0) & (index < n)).astype(int))
    there, n_beyond = math.prod(np.ix_(*exists)).astype(bool), sum(np.ix_(*beyond))
    comes = there & (n_beyond < (2 + len(at) if corners else 2))
    return np.where(comes, points[np.ix_(*at)], untouched).astype(points.dtype)


def own_part(grid, pe):
    """Where PE pe's points lie in the whole grid, and in its array with halo."""
    first, own, halo = grid.first(pe), grid.own(pe), grid.halo
    whole = tuple(slice(at, at + n) for at, n in zip(first, own, strict=True))
    return whole, tuple(slice(h, h + n) for h, n in zip(halo, own, strict=True))
