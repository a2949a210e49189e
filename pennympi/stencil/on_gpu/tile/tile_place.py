"""What a block and a lane of it know of a tile of a grid, and where all lies in the block's shared memory."""

from typing import Any, NamedTuple

from ....compile.unroll import Static
from ....cuda.device.intrinsics import anew, load_word
from ....kernels.sweep.formula import Stencil
from ..warp.quads import WIDTH
from ..warp.shared import shared_start
from ..warp.warp import LANES, lane_number, warp_number
from .block_squares import WARP_BYTES
from .tile_shape import Shape

WORD = 8


class Memory(NamedTuple):
    """Offsets in a block's shared memory.

    cells:   (2 parities, Shape.cells) quads of the rim
    edges:   (2 parities, warps + 2, first and last row, LANES) quads
    columns: (warps, rows, 2 sides) quads that a warp gives
    targets: (warps, LANES, 2) addresses that a lane gives them to, then those of the rows above and below
    squares: (2 parities, warps, 2, LANES, 2) words
    dead:    0 until a wait has given up
    """

    cells: int
    edges: int
    columns: int
    targets: int
    squares: int
    dead: int
    nbytes: int


class Tiles(NamedTuple):
    """What the kernel is compiled for.  norms: "none", "last" or "every" """

    stencil: Stencil
    shape: Shape
    norms: str

    @property
    def quad_bytes(self) -> int:
        """Bytes of a quad."""
        return WIDTH * self.stencil.item_bytes

    @property
    def packet_bytes(self) -> int:
        """Bytes of the packets of a quad."""
        return 2 * self.quad_bytes

    @property
    def rim(self) -> int:
        """Columns of the rim at each side."""
        return WIDTH * self.shape.side

    @property
    def half_cells(self) -> int:
        """Bytes of the cells of one exchange in shared memory."""
        return self.shape.cells * self.quad_bytes

    @property
    def memory(self) -> Memory:
        """Where everything lies in shared memory."""
        shape, quad = self.shape, self.quad_bytes
        sizes = (
            2 * shape.cells * quad,
            4 * (shape.warps + 2) * LANES * quad,
            shape.warps * shape.rows * 2 * shape.side * quad,
            16 * (shape.warps * LANES + 1),
            0 if self.norms == "none" else 2 * shape.warps * WARP_BYTES,
            16,
        )
        return Memory(*(sum(sizes[:k]) for k in range(len(sizes) + 1)))


class Tile(NamedTuple):
    """The tile of a block, as ``tile_shape.tables`` has it.

    y, x:       the first own point, in the arrays;  own, width: own rows and columns
    north, ...: whether there are others beyond, or the grid ends
    inbox:      address of its packets
    """

    y: int
    own: int
    x: int
    width: int
    north: bool
    south: bool
    west: bool
    east: bool
    inbox: int


class Lane(NamedTuple):
    """What a lane knows of its place.

    tile:        of the block
    shared:      address of the shared memory
    lane, warp:  numbers;  row: the first row of the warp, counted from the first of the rim
    column:      of the quad, counted from the rim's first
    mine:        whether the quad has own columns
    first, last: whether it has the fixed column before the own ones, and the one after them
    numbers:     of the formula
    """

    tile: Tile
    shared: int
    lane: int
    warp: int
    row: int
    column: int
    mine: bool
    first: bool
    last: bool
    numbers: Any


def tile_of(table):
    """The tile of a block from its words."""
    known = load_word(table + 4 * WORD)
    return Tile(
        load_word(table),
        load_word(table + WORD),
        load_word(table + 2 * WORD),
        load_word(table + 3 * WORD),
        (known & 1) != 0,
        (known & 2) != 0,
        (known & 4) != 0,
        (known & 8) != 0,
        load_word(table + 5 * WORD),
    )


def lane_of(tiles: Static[Tiles], tile: Tile, numbers):
    """The place of a lane."""
    warp, lane, side = warp_number(), lane_number(), tiles.shape.side
    own = WIDTH * (lane - side)
    mine = (own >= 0) & (own < tile.width)
    first = (not tile.west) & (lane == side - 1)
    last = (not tile.east) & (own <= tile.width) & (tile.width < own + WIDTH)
    return Lane(tile, shared_start(), lane, warp, warp * tiles.shape.rows, WIDTH * lane, mine, first, last, numbers)


def place_anew(place):
    """The same place; what is computed of it stays in registers until the next barrier only."""
    lane, warp, row, column = anew(place.lane), anew(place.warp), anew(place.row), anew(place.column)
    return Lane(place.tile, place.shared, lane, warp, row, column, place.mine, place.first, place.last, place.numbers)
