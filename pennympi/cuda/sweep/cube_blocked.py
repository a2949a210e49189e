"""A few sweeps of a box of three dimensions for one trip through memory.

A block has a tile in y and z, wider than its own points by ``depth`` on each side, and goes down x.  Level 0 is the old
field, level s the field after s sweeps.  When plane x of level 0 comes in, plane x - s of level s is computed from the
planes before, here and after of level s - 1; level ``depth`` is written.  A thread has a piece of 16 bytes of a few rows:
of each level it keeps the planes before and here in registers.  What other threads read, the plane here of each level,
lies in shared memory too, of level 0 a ring of planes that are copied ahead, of the others the newest two.  So a plane
takes one barrier.

Where the formula doesn't apply, the halo where the grid ends, a point keeps its value from level to level.  Of the tile's
points outside of what the formula needs, no value counts: they are not loaded, and no neighbour that counts reads them.

References: Nguyen and others, 3.5-D blocking optimization for stencil computations (SC 2010); AN5D: Matsumura and others
(CGO 2020).
"""

from collections.abc import Callable

from ...compile.options import LaunchBounds
from ...compile.pass_kernel import PassKernel, Storage
from ...kernels.block import Elements, Words, real, sync
from ...kernels.sweep.formula import Stencil, numbers_of
from ...kernels.sweep.records import Box, Cut, SweepFields
from .cube_levels import Turn, levels
from .cube_once import sector_start
from .cube_place import RING, Tile, sizes_of, thread_place_of
from .cube_rows import rows_copied, rows_in_shared
from .pieces import end_group, wait_for_group
from .warp import within

AHEAD = 2  # planes of level 0 that are under way
TURNS = 3  # of the loop's body: afterwards a plane's registers have the same role again
# As measured on an H200.
TILES = {
    ("float32", 2): Tile(34, 9, 4),
    ("float32", 3): Tile(18, 14, 5),
    ("float64", 2): Tile(34, 18, 2),
    ("float64", 3): Tile(36, 7, 5),
}


def sweep_blocked(stencil: Stencil, depth: int, norms: str, tile: Tile) -> Callable[..., None]:
    """The kernel."""
    read_numbers, sizes = numbers_of(stencil), sizes_of(stencil, depth, norms, tile)
    plane_bytes, place_of_thread = sizes.plane_bytes, thread_place_of(stencil, depth, tile, sizes)
    copy_rows, plane_rows = rows_copied(tile, sizes), rows_in_shared(tile, sizes)
    start_state, advance, end_state = levels(stencil, depth, norms, tile, sizes)

    def copy(x, place):
        slot = place.ring + ((x - place.start) & (RING - 1)) * plane_bytes
        needed = within(x - place.start, place.planes) & place.needed
        copy_rows(needed, slot, place.at + x * place.plane, place)
        end_group()

    def turn(state, x, place, numbers, zero):
        copy(x + AHEAD, place)
        wait_for_group()
        k = x - place.start
        after = plane_rows(place.ring + (k & (RING - 1)) * plane_bytes, zero)
        now = Turn(x, ((k - 1) & (RING - 1)) * plane_bytes, ((k - 1) & 1) * plane_bytes, (k & 1) * plane_bytes)
        state = advance(state, after, now, place, numbers, zero)
        sync()
        return state

    def sweep(ctx, fields: SweepFields, box: Box, live: Box, cut: Cut, values: Elements, words: Words, scratch: int):
        zero, numbers = real(0.0), read_numbers(values)
        place = place_of_thread(fields, box, live, cut.chunk)
        state = start_state(plane_rows(place.ring, zero))
        for k in range(AHEAD):
            copy(place.start + k, place)
        x, stop = place.start, place.own_x + place.own_planes + depth
        while x < stop:
            state = turn(state, x, place, numbers, zero)
            state = turn(state, x + 1, place, numbers, zero)
            state = turn(state, x + 2, place, numbers, zero)
            x += TURNS
        end_state(state, words)

    return sweep


def sweep_blocked_pass(stencil: Stencil, depth: int, norms: str) -> PassKernel:
    """The pass."""
    tile = TILES[stencil.dtype, depth]
    sizes, item_bytes = sizes_of(stencil, depth, norms, tile), stencil.item_bytes
    shared_bytes = (RING + 2 * (depth - 1)) * sizes.plane_bytes + 2 * sizes.row_bytes

    def launch(box: Box, storage: Storage) -> tuple[int, int, Cut]:
        start_z = sector_start(storage.lead * item_bytes, box.z0, item_bytes)
        tiles, planes = -(-(box.z1 - start_z) // sizes.own_z) * -(-(box.y1 - box.y0) // sizes.own_y), box.x1 - box.x0

        def turns(chunks: int) -> int:  # of a multiprocessor
            chunk = -(-planes // chunks)
            waves = -(-tiles * -(-planes // chunk) // storage.processors)
            return waves * -(-(chunk + 2 * depth) // TURNS) * TURNS

        chunk = -(-planes // min(range(1, planes + 1), key=turns))
        return tiles * -(-planes // chunk), sizes.threads, Cut(chunk, storage.lead)

    kernel = sweep_blocked(stencil, depth, norms, tile)
    return PassKernel(kernel, LaunchBounds(sizes.threads), shared_bytes, 0, launch)
