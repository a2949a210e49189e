"""The tile of a block, the place of a lane in it, and the layout of the block's shared memory."""

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
    columns: (warps, rows, 2 sides) quads that a warp sends
    targets: (warps, LANES, 2) addresses to which a lane sends these quads, then two addresses for the rows
    squares: (2 parities, warps, WARP_BYTES) bytes, as in ``block_squares.py``
    dead:    two words that are 0 until a wait has given up
    """

    cells: int
    edges: int
    columns: int
    targets: int
    squares: int
    dead: int
    nbytes: int


class Tiles(NamedTuple):
    """The static parameters of the kernel.  norms: "none", "last" or "every" """

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
        """Number of columns of the rim at each side."""
        return WIDTH * self.shape.side

    @property
    def half_cells(self) -> int:
        """Bytes of the cells of an exchange in shared memory."""
        return self.shape.cells * self.quad_bytes

    @property
    def memory(self) -> Memory:
        """The layout of shared memory."""
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
    """The tile of a block, from the words of ``tile_shape.tables``.

    row, column: indices of the first own point in an array with halo
    own, width:  number of own rows, and of own columns
    above, below, left, right: True if the grid has a tile at this side; False if the grid ends
    inbox:       address of the packets that the tile receives
    """

    row: int
    own: int
    column: int
    width: int
    above: bool
    below: bool
    left: bool
    right: bool
    inbox: int


class Lane(NamedTuple):
    """The place of a lane in a tile.

    tile:       the tile of the block
    shared:     address of the block's shared memory
    lane, warp: index of the lane in its warp, and of the warp in the block
    row:        index of the warp's first row; row 0 is the first row of the rim
    column:     index of the first column of the lane's quads; column 0 is the first column of the rim
    is_own:     True if the quads have own columns
    has_wall_before, has_wall_after: True if the quads have the fixed column before, or after, the own columns
    numbers:    the numbers of the formula
    """

    tile: Tile
    shared: int
    lane: int
    warp: int
    row: int
    column: int
    is_own: bool
    has_wall_before: bool
    has_wall_after: bool
    numbers: Any


def tile_of(table):
    """The tile of a block from the words of its table."""
    sides = load_word(table + 4 * WORD)
    return Tile(
        load_word(table),
        load_word(table + WORD),
        load_word(table + 2 * WORD),
        load_word(table + 3 * WORD),
        (sides & 1) != 0,
        (sides & 2) != 0,
        (sides & 4) != 0,
        (sides & 8) != 0,
        load_word(table + 5 * WORD),
    )


def lane_of(tiles: Static[Tiles], tile: Tile, numbers):
    """The place of a lane."""
    warp, lane, side = warp_number(), lane_number(), tiles.shape.side
    own_column = WIDTH * (lane - side)
    is_own = (own_column >= 0) & (own_column < tile.width)
    before = (not tile.left) & (lane == side - 1)
    after = (not tile.right) & (own_column <= tile.width) & (tile.width < own_column + WIDTH)
    return Lane(tile, shared_start(), lane, warp, warp * tiles.shape.rows, WIDTH * lane, is_own, before, after, numbers)


def place_anew(place):
    """The same place as new values for the compiler, which then keeps no expression of the old values in registers."""
    lane, warp, row, column = anew(place.lane), anew(place.warp), anew(place.row), anew(place.column)
    before, after = place.has_wall_before, place.has_wall_after
    return Lane(place.tile, place.shared, lane, warp, row, column, place.is_own, before, after, place.numbers)
