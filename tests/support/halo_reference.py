"""The array of a PE after an exchange of halos, computed by NumPy's indexing of the whole grid."""

import math

import numpy as np


def with_halos(grid, pe, points, corners, untouched):
    """PE pe's array after an exchange: ``points`` of the whole grid; ``untouched`` at points that no PE sends.

    grid: a ``pennympi.stencil.grid.decomposition.Decomposition``
    """
    indices, outside, exists = [], [], []
    dimensions = zip(grid.first(pe), grid.own(pe), grid.halo, grid.shape, grid.periodic, strict=True)
    for first, own, halo, n, wraps in dimensions:
        index = np.arange(first - halo, first + own + halo)
        indices.append(index % n)
        outside.append(((index < first) | (index >= first + own)).astype(int))
        exists.append((np.full(index.size, wraps) | (index >= 0) & (index < n)).astype(int))
    in_grid, n_outside = math.prod(np.ix_(*exists)).astype(bool), sum(np.ix_(*outside))
    comes = in_grid & (n_outside < (2 + len(indices) if corners else 2))
    return np.where(comes, points[np.ix_(*indices)], untouched).astype(points.dtype)


def own_of(grid, points):
    """This PE's points of the whole grid.  grid: a ``pennympi.Grid``"""
    return points[tuple(slice(first, first + n) for first, n in zip(grid.first, grid.own, strict=True))]


def own_part(grid, pe):
    """Slices of PE pe's points in the whole grid, and in its array with halo."""
    first, own, halo = grid.first(pe), grid.own(pe), grid.halo
    whole = tuple(slice(start, start + n) for start, n in zip(first, own, strict=True))
    return whole, tuple(slice(h, h + n) for h, n in zip(halo, own, strict=True))
