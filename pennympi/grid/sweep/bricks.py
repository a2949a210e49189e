"""How a grid is cut into bricks, one for each block of a GPU, and which cells the bricks give one another.

A brick is a box of a PE's points.  A block keeps it in shared memory with a rim of ``depth`` cells around it.  Of the rim
only the cells within ``depth`` steps count: a formula of a star reaches no others in ``depth`` sweeps.  Where the grid
ends, its fixed values belong to the brick beside them.

A piece is 16 bytes of a row, a thread's part of it, and half a group of a norm.  Along the last dimension own points
begin at a piece of the storage, and at a group of the grid where those of the PE do: the rim is wider where it must be.

Three axes stand for the dimensions of a grid: (x, y, z) of three, (y, -, z) of two, (-, -, z) of one, "-" being an axis
of one cell.  A block goes down the first one plane by plane.
"""

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from ...kernels.sweep.norm import group_points
from ..decomposition import Decomposition, Sizes, counts, part_edges, unravel

Array = np.ndarray[tuple[int, ...], np.dtype[np.int64]]


class Storage(NamedTuple):
    """Where the cells of a brick lie in shared memory: elements from one to the next by axis."""

    plane: int
    row: int


class Cells(NamedTuple):
    """The cells of a brick along one axis, an array (cells,) each.

    beyond: steps from the brick's own cells;  brick: number of the brick that owns the cell, along the axis
    cell:   its number in that brick;  there: whether there is such a cell at all
    """

    beyond: Array
    brick: Array
    cell: Array
    there: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]


class Axis:
    """The bricks along one axis of all PEs.

    edges: where the PEs' points begin, and the last ones end;  bricks: of each PE;  rim: cells beside a brick's own
    unit:  bricks of a PE begin at multiples of so many of its points
    """

    def __init__(self, edges: Sizes, bricks: int, periodic: bool, rim: int, unit: int = 1):
        self.n, self.pes, self.bricks = edges[-1], len(edges) - 1, bricks
        self.periodic, self.rim, self.unit = periodic, rim, unit
        own = [one for points in counts(edges) for one in counts(part_edges(points, bricks, unit))]
        self.own, self.first = own, [0, *np.cumsum(own).tolist()][:-1]

    @property
    def most(self) -> int:
        """Own points of the largest brick."""
        return max(self.own)

    def ends(self, k: int) -> tuple[int, int]:
        """How many fixed cells lie beside brick k, before and after it."""
        fixed = not self.periodic and self.rim > 0
        return int(fixed and k == 0), int(fixed and k == len(self.own) - 1)

    def live(self, k: int) -> tuple[int, int]:
        """The cells of brick k where the formula applies."""
        first, own, rim = self.first[k], self.own[k], self.rim
        if self.periodic:
            return 0, own + 2 * rim
        return max(0, rim - first), min(own + 2 * rim, self.n - first + rim)

    def cells(self, k: int) -> Cells:
        """The cells of brick k."""
        first, own = self.first[k], self.own[k]
        before, after = self.ends(k)
        point = np.arange(first - self.rim, first + own + self.rim)
        beyond = np.maximum(0, np.maximum(first - before - point, point - (first + own + after - 1)))
        there = np.full(len(point), True) if self.periodic else (point >= -1) & (point <= self.n)
        if self.periodic:
            point = point % self.n
        brick = np.searchsorted(self.first, np.clip(point, 0, self.n - 1), side="right") - 1
        return Cells(beyond, brick, point - np.array(self.first)[brick] + self.rim, there)


class Lines(NamedTuple):
    """The lines of a block's inbox, in order: an array (lines,) or (lines, cells of a line) each.

    pe, block: the sender;  given, taken: the cells' elements in the shared memory of the sender, and of the receiver
    """

    pe: Array
    block: Array
    given: Array
    taken: Array


class Bricks:
    """The bricks of all PEs.

    bricks: of each PE, by axis;  depth: steps from a brick's own cells that count;  storage: of a brick
    """

    def __init__(self, parts: Decomposition, bricks: Sizes, depth: int, storage: Storage, item_bytes: int):
        self._parts, self.bricks, self._storage, self._line_cells = parts, bricks, storage, 8 // item_bytes
        self.axes = axes_of(parts, bricks, depth, item_bytes)
        self.blocks = int(np.prod(bricks))
        self._depth = depth
        self.lines = cache(self._lines)

    def numbers(self, pe: int, block: int) -> Sizes:
        """The number of a brick along each axis."""
        place, inside = self._parts.place(pe), unravel(block, self.bricks)
        at = dict(zip(AXES_OF[len(place)], place, strict=True))
        return tuple(at.get(a, 0) * self.bricks[a] + inside[a] for a in range(3))

    def _lines(self, pe: int, block: int) -> Lines:
        """What comes to the inbox of a block: by sender, then in the order of its own cells."""
        rims = [axis.cells(k) for axis, k in zip(self.axes, self.numbers(pe, block), strict=True)]
        x, y, z = (rim.beyond for rim in rims)
        beyond = x[:, None, None] + y[:, None] + z
        there = rims[0].there[:, None, None] & rims[1].there[:, None] & rims[2].there
        cells = np.nonzero(there & (beyond > 0) & (beyond <= self._depth))
        brick = [rim.brick[at] for rim, at in zip(rims, cells, strict=True)]
        place = [one // n for one, n in zip(brick, self.bricks, strict=True)]
        inside = [one % n for one, n in zip(brick, self.bricks, strict=True)]
        dims = [axis.pes for axis in self.axes]
        senders = np.array(self._parts.pes)[np.ravel_multi_index(place, dims)]
        blocks = np.ravel_multi_index(inside, self.bricks)
        given = self._element([rim.cell[at] for rim, at in zip(rims, cells, strict=True)])
        order = np.lexsort((blocks, senders))  # stable: the cells of a sender stay in order
        return self._paired(senders[order], blocks[order], given[order], self._element(cells)[order])

    def _paired(self, pe: Array, block: Array, given: Array, taken: Array) -> Lines:
        """Lines of cells, each of one sender: the last cell of a sender stands twice where a line is not full."""
        n, width = len(pe), self._line_cells
        sender = pe * self.blocks + block
        starts = np.flatnonzero(np.diff(sender, prepend=-1))
        counts = np.diff(starts, append=n)
        cells = [np.minimum(np.arange(0, c, width)[:, None] + np.arange(width), c - 1) for c in counts.tolist()]
        at = np.concatenate(
            [s + c for s, c in zip(starts.tolist(), cells, strict=True)] or [np.zeros((0, width), np.int64)]
        )
        return Lines(pe[at[:, 0]], block[at[:, 0]], given[at], taken[at])

    def _element(self, cells: Sequence[Array]) -> Array:
        x, y, z = cells
        return x * self._storage.plane + y * self._storage.row + z

    def sent(self, pe: int, slots: int) -> list[tuple[Array, Array, Array]]:
        """What each block of a PE gives, in the order of the receivers.  slots: lines from an inbox to the next one

        (receiving PE, number of the line among those of that PE's blocks, elements of its cells in the giver)
        """
        found: list[list[tuple[Array, Array, Array]]] = [[] for _ in range(self.blocks)]
        for to in near(self._parts, pe):
            for receiver in range(self.blocks):
                lines = self.lines(to, receiver)
                mine = np.flatnonzero(lines.pe == pe)
                for block in np.unique(lines.block[mine]).tolist():
                    at = mine[lines.block[mine] == block]
                    found[block].append((np.full(len(at), to), receiver * slots + at, lines.given[at]))
        none = np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros((0, self._line_cells), np.int64)
        return [
            (np.concatenate(pes), np.concatenate(at), np.concatenate(cells))
            for pes, at, cells in (zip(none, *one, strict=True) for one in found)
        ]


AXES_OF = {3: (0, 1, 2), 2: (0, 2), 1: (2,)}  # by dimensions of a grid


def axes_of(parts: Decomposition, bricks: Sizes, depth: int, item_bytes: int) -> list[Axis]:
    """The three axes of a grid."""
    axes, n_dims, group = [Axis((0, 1), 1, False, 0)] * 3, len(parts.shape), group_points(item_bytes)
    for d, a in enumerate(AXES_OF[n_dims]):
        # The rows of one dimension go on in the next ones: halves of a group would be apart in different rows.
        unit, rim_unit = (group, group if n_dims == 1 else group // 2) if a == 2 else (1, 1)
        axes[a] = Axis(parts.edges[d], bricks[a], parts.periodic[d], -(-depth // rim_unit) * rim_unit, unit)
    return axes


def near(parts: Decomposition, pe: int) -> list[int]:
    """The PEs that have points beside those of a PE, across edges and corners too, and itself."""
    n_dims = len(parts.shape)
    steps = (tuple(k // 3**d % 3 - 1 for d in range(n_dims)) for k in range(3**n_dims))
    found = {parts.neighbour(pe, step) for step in steps}
    return sorted(one for one in found if one is not None)
