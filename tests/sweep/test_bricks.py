"""Bricks and the cells that they give one another: swept apart in NumPy, they hold what plain sweeps of the grid do."""

import itertools

import numpy as np
import pytest

from pennympi.grid.decomposition import Decomposition
from pennympi.grid.sweep.brick_shape import Limits, best_shape
from pennympi.grid.sweep.bricks import AXES_OF, Bricks, Storage, axes_of
from pennympi.kernels.sweep.formula import Stencil

CASES = [  # points, PEs, periodic, bricks of a PE by axis, depth, sweeps after each exchange, bytes of an item
    ((37,), (1,), (False,), (1, 1, 3), 2, (2, 1), 4),
    ((37,), (2,), (True,), (1, 1, 3), 3, (3, 1), 8),
    ((9,), (1,), (True,), (1, 1, 2), 3, (3, 1), 4),
    ((13, 17), (1, 1), (False, False), (3, 1, 2), 3, (3, 1), 4),
    ((13, 37), (2, 2), (True, False), (2, 1, 2), 2, (2, 1), 4),
    ((13, 17), (1, 3), (True, True), (2, 1, 2), 4, (4,), 8),
    ((7, 9, 11), (1, 1, 1), (False, False, False), (2, 3, 2), 2, (2, 1), 8),
    ((7, 9, 29), (2, 1, 2), (True, False, True), (2, 3, 2), 2, (2,), 4),
    ((3, 4, 9), (1, 1, 1), (True, True, True), (3, 4, 2), 3, (3,), 4),
]


def formula(here, beside):
    out = here * 0.3
    for k, one in enumerate(beside):
        out = out + (0.1 + 0.01 * k) * one
    return out


def plain(u, periodic, formula=formula):
    """One sweep of a field with a layer of fixed values, or of those of the other end."""
    inner, beside = (slice(1, -1),) * u.ndim, []
    for d in range(u.ndim):
        view = np.moveaxis(u, d, 0)
        if periodic[d]:
            view[0], view[-1] = view[-2], view[1]
        beside += [np.moveaxis(view[1 + s : len(view) - 1 + s], 0, d) for s in (-1, 1)]
    others = [[slice(1, -1) if e != d else slice(None) for e in range(u.ndim)] for d in range(u.ndim) for _ in (0, 1)]
    new = u.copy()
    new[inner] = formula(u[inner], [one[tuple(other)] for one, other in zip(beside, others, strict=True)])
    return new


def cells_of(axes, numbers, bounds, storage):
    """The elements of the cells in the bounds of each axis."""
    x, y, z = np.ix_(*(np.arange(low, high) for low, high in bounds))
    return x * storage.plane + y * storage.row + z


@pytest.mark.parametrize("points, pes, periodic, cut, depth, levels, item_bytes", CASES)
def test_bricks_sweep_apart(points, pes, periodic, cut, depth, levels, item_bytes):
    n_dims, n_pes = len(points), int(np.prod(pes))
    parts = Decomposition(points, pes, periodic, (1,) * n_dims, tuple(range(n_pes)))
    axes = axes_of(parts, cut, depth, item_bytes)
    row = axes[2].most + 2 * axes[2].rim + 3
    storage = Storage(row * (axes[1].most + 2 * axes[1].rim) + 5, row)
    bricks = Bricks(parts, cut, depth, storage, item_bytes)
    u = np.random.default_rng(1).random(tuple(n + 2 for n in points))
    by_axis = [1, 1, 1]
    for d, a in enumerate(AXES_OF[n_dims]):
        by_axis[a] = u.shape[d]
    shift = [int(a in AXES_OF[n_dims]) for a in range(3)]
    memory = {}
    for pe, block in itertools.product(range(n_pes), range(bricks.blocks)):
        numbers = bricks.numbers(pe, block)
        ends = [axis.ends(k) for axis, k in zip(axes, numbers, strict=True)]
        every = list(zip(axes, numbers, ends, strict=True))
        own = [(a.rim - before, a.rim + a.own[k] + after) for a, k, (before, after) in every]
        there = tuple(
            slice(a.first[k] + s - before, a.first[k] + s + a.own[k] + after)
            for (a, k, (before, after)), s in zip(every, shift, strict=True)
        )
        held = memory[pe, block] = np.full(storage.plane * (axes[0].most + 2 * axes[0].rim) + 100, np.nan)
        held[cells_of(axes, numbers, own, storage)] = u.reshape(by_axis)[there]
    slots = max(len(bricks.lines(*one).pe) for one in memory)
    for n_sweeps in levels:
        inbox = {pe: np.full((bricks.blocks * slots, 8 // item_bytes), np.nan) for pe in range(n_pes)}
        for pe in range(n_pes):
            for block, (to, at, given) in enumerate(bricks.sent(pe, slots)):
                for receiver in np.unique(to):
                    mine = to == receiver
                    assert np.isnan(inbox[receiver][at[mine]]).all()
                    inbox[receiver][at[mine]] = memory[pe, block][given[mine]]
        for (pe, block), held in memory.items():
            lines = bricks.lines(pe, block)
            got = inbox[pe][block * slots : block * slots + len(lines.pe)]
            assert not np.isnan(got).any()
            held[lines.taken] = got
            numbers = bricks.numbers(pe, block)
            live = cells_of(axes, numbers, [a.live(k) for a, k in zip(axes, numbers, strict=True)], storage)
            strides = [(storage.plane, storage.row, 1)[a] for a in AXES_OF[n_dims]]
            for _ in range(n_sweeps):
                beside = [held[np.clip(live + s * stride, 0, len(held) - 1)] for stride in strides for s in (-1, 1)]
                held[live] = formula(held[live], beside)
        for _ in range(n_sweeps):
            u = plain(u, periodic)
    for one, held in memory.items():
        every = list(zip(axes, bricks.numbers(*one), shift, strict=True))
        own = cells_of(axes, None, [(a.rim, a.rim + a.own[k]) for a, k, _ in every], storage)
        there = tuple(slice(a.first[k] + s, a.first[k] + s + a.own[k]) for a, k, s in every)
        assert (held[own] == u.reshape(by_axis)[there]).all()


@pytest.mark.parametrize("points", [(1 << 20,), (2048, 2048), (128, 128, 128)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_bricks_fit(points, dtype):
    """Each point is in a brick that fits; a field too large for the device is in none."""
    n_dims = len(points)
    parts, limits = Decomposition(points, (1,) * n_dims, (False,) * n_dims, (1,) * n_dims, (0,)), Limits(132, 227 << 10)
    found = best_shape(parts, Stencil(formula, n_dims, dtype, 0, False), "every", limits, None)
    if n_dims == 2 and dtype == "float64":
        assert found is None
        return
    assert found.blocks <= 132 and found.shared_bytes <= 227 << 10 and found.threads <= 1024
    item_bytes = np.dtype(dtype).itemsize
    cells = [axis.most + 2 * axis.rim for axis in axes_of(parts, found.bricks, found.depth, item_bytes)]
    last = (cells[0] - 1) * found.storage.plane + (cells[1] - 1) * found.storage.row + cells[2]
    assert last * item_bytes <= found.cell_bytes
