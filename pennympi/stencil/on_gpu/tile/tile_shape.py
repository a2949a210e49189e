"""The cut of a PE's part into tiles, one for each block, and the addresses to which a tile sends: on the host.

    xxxxxxxxxx    #: own points; x: the rim, ``depth`` rows and ``depth`` columns, rounded up to whole quads.
    xx######xx    After an exchange the whole rim is valid; each of the next ``depth`` sweeps spoils one more row and
    xx######xx    column of it.  The cuts are the same on all PEs, so each side and each corner of a tile has at most one
    xxxxxxxxxx    neighbour, on this PE or on another PE; the neighbour may be the tile itself.

An inbox holds the rim of a tile as packets: the rows above and below, then the quads at both sides of every row, with the
corners.  At an edge of the grid the rim holds boundary values.  A tile sends them to its neighbours along that edge, as
it sends its own points.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from ....kernels.sweep.norm import MOST_GROUP_POINTS
from ..warp.quads import WIDTH
from ..warp.warp import LANES

WARPS = 15  # the most warps that compute: the registers of a multiprocessor then allow 128 a thread
MOST_ROWS = {"float32": 10, "float64": 6}  # the most rows of a warp, which a thread has in registers
# A block's table: the words of its Tile, 8 addresses that it sends to, 8 PEs that send to it, its number of exchanges.
TABLE_WORDS = 32
TARGETS, SOURCES, NUMBER = 8, 16, 24


class Shape(NamedTuple):
    """The shape of the tiles for which a kernel is compiled.

    rows, warps: number of rows of a warp, and of warps that compute
    depth:       number of sweeps between two exchanges
    side:        number of quads of the rim at each side
    most:        the most rows of a tile with its rim
    edge:        number of own columns in the last quad of a row of the part; 0: the quad is whole
    """

    rows: int
    warps: int
    depth: int
    side: int
    most: int
    edge: int

    @property
    def cells(self) -> int:
        """Number of quads of an inbox in an exchange."""
        return 2 * LANES * self.depth + 2 * self.side * self.most


class Cut(NamedTuple):
    """The number of tiles of a PE, by dimension, and their shape."""

    tiles: tuple[int, ...]
    shape: Shape


def first_row(n: int, tiles: int, i: int) -> int:
    """Index of the first row of tile i, of n rows."""
    return n * i // tiles


def first_column(n: int, tiles: int, i: int) -> int:
    """Index of the first column of tile i, of n columns.  All tiles except the last one have whole groups of a norm."""
    return min(n, -(-n // MOST_GROUP_POINTS) * i // tiles * MOST_GROUP_POINTS)


def _spans(n: int, tiles: int, first: Callable[[int, int, int], int]) -> list[int]:
    return [first(n, tiles, i + 1) - first(n, tiles, i) for i in range(tiles)]


def cut_of(parts: Any, me: int, depth: int, blocks: int, most_rows: int) -> Cut | None:
    """The cut with the fewest rows of a tile; None if no cut fits.

    blocks: the most blocks of a PE;  most_rows: the most rows of a warp
    """
    side = -(-depth // WIDTH)
    rows, columns = ({parts.own(pe)[d] for pe in parts.pes} for d in (0, 1))
    best = None
    for across in range(1, blocks + 1):
        widths = [width for n in columns for width in _spans(n, across, first_column)]
        down = min(blocks // across, min(rows) // (2 * depth))
        if down == 0 or min(widths) < 2 * WIDTH * side:
            break
        if max(widths) + 2 * WIDTH * side > LANES * WIDTH:
            continue
        high = -(-max(rows) // down) + 2 * depth
        per_warp = -(-high // WARPS)
        if per_warp <= most_rows and (best is None or high < best.shape.most):
            edge = parts.own(me)[1] % WIDTH
            shape = Shape(per_warp, -(-high // per_warp), depth, side, high, edge)
            best = Cut((-(-max(rows) // (high - 2 * depth)), across), shape)
    return best


def tables(parts: Any, me: int, cut: Cut, inbox: Callable[[int, int], int], quad_bytes: int) -> list[list[int]]:
    """The TABLE_WORDS words of each block.

    inbox:      (PE, block) -> address, in this process, of the block's inbox
    quad_bytes: bytes of a quad's packets
    """
    return [
        _table(parts, me, cut, divmod(block, cut.tiles[1]), inbox, quad_bytes)
        for block in range(cut.tiles[0] * cut.tiles[1])
    ]


def _rows_of(parts: Any, pe: int, cut: Cut, row: int) -> int:
    n, tiles = parts.own(pe)[0], cut.tiles[0]
    return first_row(n, tiles, row + 1) - first_row(n, tiles, row)


def _table(
    parts: Any, me: int, cut: Cut, tile: tuple[int, ...], inbox: Callable[[int, int], int], quad_bytes: int
) -> list[int]:
    (down, across), shape, own = cut.tiles, cut.shape, parts.own(me)
    side_bytes = shape.side * quad_bytes
    row_bytes, columns = 2 * side_bytes, 2 * LANES * shape.depth * quad_bytes  # columns: offset of the sides in an inbox

    def neighbour(rows: int, columns: int) -> tuple[int, int, int] | None:
        """(PE, address of the inbox, own rows) of the tile that is some tiles away; None: the grid ends."""
        i, j = tile[0] + rows, tile[1] + columns
        pe = parts.neighbour(me, ((i >= down) - (i < 0), (j >= across) - (j < 0)))
        if pe is None:
            return None
        i, j = i % down, j % across
        return pe, inbox(pe, i * across + j), _rows_of(parts, pe, cut, i)

    row, column = first_row(own[0], down, tile[0]), first_column(own[1], across, tile[1])
    rows, width = _rows_of(parts, me, cut, tile[0]), first_column(own[1], across, tile[1] + 1) - column
    above, below = neighbour(-1, 0), neighbour(1, 0)
    targets = [above[1] if above else 0, below[1] - rows * LANES * quad_bytes if below else 0]
    sources = [sender[0] if sender else 0 for sender in (above, below)]
    for step in (-1, 1):
        side, upper, lower = neighbour(0, step), neighbour(-1, step), neighbour(1, step)
        # The columns go to the opposite side of the neighbour; at an edge of the grid, this tile's fixed columns go to
        # the same side of the tiles above and below.
        into = columns + (side_bytes if (step < 0) == (side is not None) else 0)
        if side is None:
            upper, lower = above, below
        targets.append(side[1] + into if side else 0)
        targets.append(upper[1] + into + upper[2] * row_bytes if upper else 0)
        targets.append(lower[1] + into - rows * row_bytes if lower else 0)
        upper, lower = upper or side, lower or side
        sources += [sender[0] if sender else 0 for sender in (side, upper, lower)]
    sides = [above is not None, below is not None, neighbour(0, -1) is not None, neighbour(0, 1) is not None]
    flags = sum(2**k * has_tile for k, has_tile in enumerate(sides))
    words = [row + parts.halo[0], rows, column + parts.halo[1], width, flags, inbox(me, tile[0] * across + tile[1]), 0, 0]
    words += [*targets, *sources]
    return words + [0] * (TABLE_WORDS - len(words))
