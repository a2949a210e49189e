"""The place of a thread in a block of ``cube_blocked.py``."""

from typing import NamedTuple

from ....compile.unroll import Static
from ....cuda.compiler.gpu import cuda
from ....cuda.device.intrinsics import divide_32
from ....kernels.block import block
from ....kernels.sweep.formula import Stencil
from ....kernels.sweep.records import Pass
from ..chunks import chunk_at
from ..warp.shared import PIECE_BYTES, shared_start
from ..warp.warp import least, pick
from .cube_once import sector_start

RING = 4  # number of planes of level 0 in shared memory


class Tile(NamedTuple):
    """The division of a block's tile.

    lanes: number of pieces of a row;  groups: number of groups of threads along y;  rows: number of rows of a thread
    """

    lanes: int
    groups: int
    rows: int


class Cube(NamedTuple):
    """The static parameters of a kernel of passes over three dimensions.  norms: "none", "last" or "every" """

    stencil: Stencil
    depth: int
    norms: str
    tile: Tile

    @property
    def width(self) -> int:
        """Number of numbers of a piece."""
        return PIECE_BYTES // self.stencil.item_bytes

    @property
    def row_bytes(self) -> int:
        """Bytes of a row of the tile in shared memory."""
        return self.tile.lanes * PIECE_BYTES

    @property
    def tile_y(self) -> int:
        """Number of rows of the tile."""
        return self.tile.groups * self.tile.rows

    @property
    def plane_bytes(self) -> int:
        """Bytes of a plane of the tile in shared memory."""
        return self.tile_y * self.row_bytes

    @property
    def rim(self) -> int:
        """Number of lanes at either end whose points other blocks write."""
        return -(-self.depth // self.width)

    @property
    def own_y(self) -> int:
        """Number of rows of a plane that a block writes."""
        return self.tile_y - 2 * self.depth

    @property
    def own_z(self) -> int:
        """Number of points of a row that a block writes."""
        return (self.tile.lanes - 2 * self.rim) * self.width

    @property
    def skipped(self) -> int:
        """Number of threads before the tile's first thread, so that lanes 2 k and 2 k + 1 have the halves of a group."""
        return 0 if self.norms == "none" else self.rim % 2

    @property
    def threads(self) -> int:
        """Number of threads of a block."""
        return -(-(self.skipped + self.tile.lanes * self.tile.groups) // 32) * 32

    @property
    def first_norm(self) -> int:
        """The first level with a norm."""
        return {"none": self.depth + 1, "last": self.depth, "every": 1}[self.norms]


class ThreadPlace(NamedTuple):
    """The place of a thread.  In y and z an index counts from the first row or number that the next field counts.

    old, new, coefficient: addresses of the thread's first piece in plane 0 of the fields
    row, plane:      bytes from a row, and from a plane, of a field to the next
    ring, levels:    addresses of its first piece in the first plane of the ring, and of the other levels' planes
    active:          True if the thread has a place of its own in the tile
    start, planes:   first plane of level 0 that the block needs, and number of these planes
    needed:          True if the block needs level 0 at the thread's z
    needed_y, needed_rows: index of the thread's first row among the rows of level 0 that the block needs
    live_y, live_rows:     index of its first row among the live rows
    live_z, live_numbers:  index of its first number among the live numbers of a row
    live_x, live_planes:   first live plane, and number of live planes
    edge:            True if points of the tile are not live
    own_y, own_rows: index of its first row among the rows that the block writes
    own_x, own_planes: first plane that the block writes, and number of these planes
    first, stop:     index of the first number of its piece that it writes, and the index after the last
    """

    old: int
    new: int
    coefficient: int
    row: int
    plane: int
    ring: int
    levels: int
    active: bool
    start: int
    planes: int
    needed: bool
    needed_y: int
    needed_rows: int
    live_y: int
    live_rows: int
    live_z: int
    live_numbers: int
    live_x: int
    live_planes: int
    edge: bool
    own_y: int
    own_rows: int
    own_x: int
    own_planes: int
    first: int
    stop: int


def most(x, y):
    """The larger of x and y."""
    return max(x, y)


def place_of_thread(cube: Static[Cube], sweeps: Pass):
    """The place of a thread."""
    fields, box, live, cut = sweeps.fields, sweeps.box, sweeps.live, sweeps.cut
    depth, tile, item_bytes = cube.depth, cube.tile, cube.stencil.item_bytes
    own_y, own_z = cube.own_y, cube.own_z
    start_z = sector_start(fields.old, box.z0, item_bytes)
    blocks_z, blocks_y = (box.z1 - start_z + own_z - 1) // own_z, (box.y1 - box.y0 + own_y - 1) // own_y
    block_x_y = divide_32(block(), blocks_z)
    block_x = divide_32(block_x_y, blocks_y)
    own_x, own_planes = chunk_at(cut, box.x0, box.x1, block_x)
    first_y, stop_x = box.y0 + (block_x_y - block_x * blocks_y) * own_y, own_x + own_planes
    tile_z = start_z + (block() - block_x_y * blocks_z) * own_z - cube.rim * cube.width

    thread = thread_of_tile(cube)
    lane, active = thread % tile.lanes, thread // tile.lanes < tile.groups
    group = least(thread // tile.lanes, tile.groups - 1)
    y, z = first_y - depth + group * tile.rows, tile_z + lane * cube.width
    plane, row = fields.plane * item_bytes, fields.row * item_bytes
    offset = y * row + z * item_bytes
    ring = shared_start() + (1 + group * tile.rows) * cube.row_bytes + lane * PIECE_BYTES

    # The block needs the old field on the box widened by depth, but outside the live points only their neighbours.
    start, stop = most(own_x - depth, live.x0 - 1), least(stop_x + depth, live.x1 + 1)
    needed_y, stop_y = most(box.y0 - depth, live.y0 - 1), least(box.y1 + depth, live.y1 + 1)
    needed_z, stop_z = most(box.z0 - depth, live.z0 - 1), least(box.z1 + depth, live.z1 + 1)
    inside_y = (first_y - depth >= live.y0) & (first_y - depth + cube.tile_y <= live.y1)
    inside_z = (tile_z >= live.z0) & (tile_z + tile.lanes * cube.width <= live.z1)
    return ThreadPlace(
        fields.old + offset, fields.new + offset, fields.coefficient + offset, row, plane,
        ring, ring + RING * cube.plane_bytes, active,
        start, stop - start,
        active & (z + cube.width > needed_z) & (z < stop_z), y - needed_y, stop_y - needed_y,
        y - live.y0, live.y1 - live.y0, z - live.z0, live.z1 - live.z0, live.x0, live.x1 - live.x0,
        not (inside_y & inside_z),
        y - first_y, least(own_y, box.y1 - first_y), own_x, own_planes,
        box.z0 - z, pick(active & (lane >= cube.rim) & (lane < tile.lanes - cube.rim), box.z1 - z, 0),
    )  # fmt: skip


def thread_of_tile(cube: Static[Cube]):
    """Index of this thread among the tile's threads; an index after the last for a thread outside the tile."""
    thread = cuda.threadIdx.x
    if cube.skipped:
        thread = pick(thread < cube.skipped, cube.tile.lanes * cube.tile.groups, thread - cube.skipped)
    return thread
