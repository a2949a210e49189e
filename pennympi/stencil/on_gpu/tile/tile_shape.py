"""How the part of a PE is cut into tiles, one for each block, and where a tile gives its rim: on the host.

    xxxxxxxxxx    #: own points, x: a rim of ``depth`` rows and as many columns, rounded up to whole quads
    xx######xx    After an exchange all of it is known; each of the ``depth`` sweeps that follow spoils one more row and
    xx######xx    column of the rim.  The cuts are the same on all PEs, so that each side and corner of a tile has one
    xxxxxxxxxx    neighbour at most, on this PE or another one; it may be the tile itself.

An inbox is the rim of a tile as packets: the rows above and below, and the quads at both sides of every row, those of the
corners too.  Where the grid ends, the rim holds the fixed values, which a tile passes on to the tiles beside it there:
they need its fixed points as they need its own.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from ....kernels.sweep.norm import MOST_GROUP_POINTS
from ..warp.quads import WIDTH
from ..warp.warp import LANES

WARPS = 15  # that compute, at most: the registers of a multiprocessor allow 128 a thread
MOST_ROWS = {"float32": 10, "float64": 6}  # of a warp: a thread has them in registers
TABLE_WORDS = 32  # of a block: Tile, 8 addresses that it gives to, the 8 PEs that give to it, and its number of exchanges
GIVES, SOURCES, NUMBER = 8, 16, 24


class Shape(NamedTuple):
    """What a kernel is compiled for.

    rows, warps: rows of a warp, and warps that compute;  depth: sweeps from one exchange to the next
    side:        quads of the rim at each side
    most:        rows of a tile with its rim, at most
    edge:        own columns in the last quad of a row of the part; 0: it is whole
    """

    rows: int
    warps: int
    depth: int
    side: int
    most: int
    edge: int

    @property
    def cells(self) -> int:
        """Quads of an inbox, for one exchange."""
        return 2 * LANES * self.depth + 2 * self.side * self.most


class Cut(NamedTuple):
    """Tiles of a PE, by dimension, and the shape of their kernel."""

    tiles: tuple[int, ...]
    shape: Shape


def first_row(n: int, tiles: int, i: int) -> int:
    """The first of n rows that belongs to tile i."""
    return n * i // tiles


def first_column(n: int, tiles: int, i: int) -> int:
    """The first of n columns that belongs to tile i: a tile has whole groups of a norm, but for the last one."""
    return min(n, -(-n // MOST_GROUP_POINTS) * i // tiles * MOST_GROUP_POINTS)


def _spans(n: int, tiles: int, first: Callable[[int, int, int], int]) -> list[int]:
    return [first(n, tiles, i + 1) - first(n, tiles, i) for i in range(tiles)]


def cut_of(parts: Any, me: int, depth: int, blocks: int, most_rows: int) -> Cut | None:
    """The cut of which a warp has the fewest rows; None where none fits.  blocks: of a PE at most"""
    side = -(-depth // WIDTH)
    rows, columns = ({parts.own(pe)[d] for pe in parts.pes} for d in (0, 1))
    found = None
    for across in range(1, blocks + 1):
        widths = [width for n in columns for width in _spans(n, across, first_column)]
        down = min(blocks // across, min(rows) // (2 * depth))
        if down == 0 or min(widths) < 2 * WIDTH * side:
            break
        if max(widths) + 2 * WIDTH * side > LANES * WIDTH:
            continue
        high = -(-max(rows) // down) + 2 * depth
        per_warp = -(-high // WARPS)
        if per_warp <= most_rows and (found is None or high < found.shape.most):
            edge = parts.own(me)[1] % WIDTH
            shape = Shape(per_warp, -(-high // per_warp), depth, side, high, edge)
            found = Cut((-(-max(rows) // (high - 2 * depth)), across), shape)
    return found


def tables(parts: Any, me: int, cut: Cut, inbox: Callable[[int, int], int], quad_bytes: int) -> list[list[int]]:
    """The TABLE_WORDS words of each block.

    inbox:      (PE, block) -> address, in this process, of a block's inbox
    quad_bytes: of a quad's packets
    """
    return [
        _table(parts, me, cut, divmod(block, cut.tiles[1]), inbox, quad_bytes)
        for block in range(cut.tiles[0] * cut.tiles[1])
    ]


def _rows_of(parts: Any, pe: int, cut: Cut, row: int) -> int:
    n, tiles = parts.own(pe)[0], cut.tiles[0]
    return first_row(n, tiles, row + 1) - first_row(n, tiles, row)


def _table(
    parts: Any, me: int, cut: Cut, at: tuple[int, ...], inbox: Callable[[int, int], int], quad_bytes: int
) -> list[int]:
    (down, across), shape, own = cut.tiles, cut.shape, parts.own(me)
    side_bytes = shape.side * quad_bytes
    row_bytes, columns = 2 * side_bytes, 2 * LANES * shape.depth * quad_bytes  # where the sides begin

    def beside(dy: int, dx: int) -> tuple[int, int, int] | None:
        """(PE, address of the inbox, own rows) of the tile a step away; None: the grid ends."""
        y, x = at[0] + dy, at[1] + dx
        pe = parts.neighbour(me, ((y >= down) - (y < 0), (x >= across) - (x < 0)))
        if pe is None:
            return None
        y, x = y % down, x % across
        return pe, inbox(pe, y * across + x), _rows_of(parts, pe, cut, y)

    y0, x0 = first_row(own[0], down, at[0]), first_column(own[1], across, at[1])
    rows, width = _rows_of(parts, me, cut, at[0]), first_column(own[1], across, at[1] + 1) - x0
    north, south = beside(-1, 0), beside(1, 0)
    gives = [north[1] if north else 0, south[1] - rows * LANES * quad_bytes if south else 0]
    sources = [one[0] if one else 0 for one in (north, south)]
    for dx in (-1, 1):
        level, above, below = beside(0, dx), beside(-1, dx), beside(1, dx)
        # Into the other side of the tile there; where the grid ends, this tile's fixed columns into the same side.
        into = columns + (side_bytes if (dx < 0) == (level is not None) else 0)
        if level is None:
            above, below = north, south
        gives.append(level[1] + into if level else 0)
        gives.append(above[1] + into + above[2] * row_bytes if above else 0)
        gives.append(below[1] + into - rows * row_bytes if below else 0)
        above, below = above or level, below or level
        sources += [one[0] if one else 0 for one in (level, above, below)]
    known = [north is not None, south is not None, beside(0, -1) is not None, beside(0, 1) is not None]
    tile = [y0 + parts.halo[0], rows, x0 + parts.halo[1], width, sum(2**k * one for k, one in enumerate(known))]
    words = [*tile, inbox(me, at[0] * across + at[1]), 0, 0, *gives, *sources]
    return words + [0] * (TABLE_WORDS - len(words))
