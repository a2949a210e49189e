"""How a grid is cut into bricks, one for each block of a GPU, and which cells the bricks give one another.

A brick is a box of a PE's points.  A block keeps it in shared memory with a rim of ``depth`` cells around it.  Of the rim
only the cells within ``depth`` steps count: a formula of a star reaches no others in ``depth`` sweeps.  Where the grid
ends, its fixed values belong to the brick beside them.

Three axes stand for the dimensions of a grid: (x, y, z) of three, (y, -, z) of two, (-, -, z) of one, "-" being an axis
of one cell.  A block goes down the first one plane by plane.
"""

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from ..decomposition import Decomposition, Sizes, counts, part_edges, unravel

Array = np.ndarray[tuple[int, ...], np.dtype[np.int64]]


class Storage(NamedTuple):
    """Where the cells of a brick lie in shared memory: elements from one to the next by axis."""

    plane: int
    row: int


class Rim(NamedTuple):
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

    edges: where the PEs' points begin, and the last ones end;  bricks: of each PE;  depth: of the rim
    """

    def __init__(self, edges: Sizes, bricks: int, periodic: bool, depth: int):
        self.n, self.pes, self.bricks, self.periodic, self.depth = edges[-1], len(edges) - 1, bricks, periodic, depth
        own = [one for points in counts(edges) for one in counts(part_edges(points, bricks))]
        self.own, self.first = own, [0, *np.cumsum(own).tolist()][:-1]

    @property
    def most(self) -> int:
        """Own points of the largest brick."""
        return max(self.own)

    def ends(self, k: int) -> tuple[int, int]:
        """How many fixed cells lie beside brick k, before and after it."""
        fixed = not self.periodic and self.depth > 0
        return int(fixed and k == 0), int(fixed and k == len(self.own) - 1)

    def live(self, k: int) -> tuple[int, int]:
        """The cells of brick k where the formula applies."""
        first, own, depth = self.first[k], self.own[k], self.depth
        if self.periodic:
            return 0, own + 2 * depth
        return max(0, depth - first), min(own + 2 * depth, self.n - first + depth)

    def rim(self, k: int) -> Rim:
        """The cells of brick k."""
        first, own, depth = self.first[k], self.own[k], self.depth
        before, after = self.ends(k)
        point = np.arange(first - depth, first + own + depth)
        beyond = np.maximum(0, np.maximum(first - before - point, point - (first + own + after - 1)))
        there = np.full(len(point), True) if self.periodic else (point >= -1) & (point <= self.n)
        if self.periodic:
            point = point % self.n
        brick = np.searchsorted(self.first, np.clip(point, 0, self.n - 1), side="right") - 1
        return Rim(beyond, brick, point - np.array(self.first)[brick] + depth, there)


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

    bricks: of each PE, by axis;  depth: of the rims;  storage: of a brick;  line_cells: cells of a line of an inbox
    """

    def __init__(self, parts: Decomposition, bricks: Sizes, depth: int, storage: Storage, line_cells: int):
        self._parts, self.bricks, self._storage, self._line_cells = parts, bricks, storage, line_cells
        self.axes = axes_of(parts, bricks, depth)
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
        rims = [axis.rim(k) for axis, k in zip(self.axes, self.numbers(pe, block), strict=True)]
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


def axes_of(parts: Decomposition, bricks: Sizes, depth: int) -> list[Axis]:
    """The three axes of a grid."""
    axes = [Axis((0, 1), 1, False, 0)] * 3
    for d, a in enumerate(AXES_OF[len(parts.shape)]):
        axes[a] = Axis(parts.edges[d], bricks[a], parts.periodic[d], depth)
    return axes


def near(parts: Decomposition, pe: int) -> list[int]:
    """The PEs that have points beside those of a PE, across edges and corners too, and itself."""
    n_dims = len(parts.shape)
    steps = (tuple(k // 3**d % 3 - 1 for d in range(n_dims)) for k in range(3**n_dims))
    found = {parts.neighbour(pe, step) for step in steps}
    return sorted(one for one in found if one is not None)
