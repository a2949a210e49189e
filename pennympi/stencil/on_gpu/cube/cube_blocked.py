"""A few sweeps of a box of three dimensions in one trip through memory.

A block has a tile in y and z, which is ``depth`` points wider than the points that it writes on each side, and goes along
x.  Level 0 is the old field, level s the field after s sweeps.  When plane x of level 0 arrives, the block computes plane
x - s of level s from planes x - s - 1, x - s and x - s + 1 of level s - 1; it writes level ``depth``.  A thread has a
piece of 16 bytes in a few rows, and keeps two planes of each level in registers.  Other threads read the newest planes
from shared memory: a ring of planes of level 0, which are copied ahead, and the newest two planes of each other level.
So a plane takes one barrier.

A point to which the formula does not apply, in the halo at the end of the grid, keeps its value from level to level.
The block does not load points of the tile that the formula does not need: no point that counts depends on them.

References: Nguyen and others, 3.5-D blocking optimization for stencil computations (SC 2010); Matsumura and others, AN5D
(CGO 2020).
"""

from ....compile.options import LaunchBounds
from ....compile.pass_kernel import PassKernel, PassLaunch, Storage
from ....compile.unroll import Static, specialised
from ....kernels.block import real, sync
from ....kernels.sweep.formula import Stencil, read_numbers
from ....kernels.sweep.records import Box, Pass
from ..chunks import cut_into_chunks, pass_launch
from ..warp.pieces import end_group, wait_for_group
from ..warp.warp import within
from .cube_levels import Turn, add_squares_of_levels, advance_levels, start_levels
from .cube_once import sector_start
from .cube_place import RING, Cube, Tile, place_of_thread
from .cube_rows import copy_rows, load_rows

AHEAD = 2  # number of planes of level 0 that are under way
WAIT_PLANES = 16  # approximate number of planes that a chunk computes in the time in which its halo arrives
TURNS = 3  # turns of an iteration of the loop, after which a plane's registers have the same role again
# The tiles by dtype and number of sweeps, as measured on an H200.
TILES = {
    ("float32", 2): Tile(34, 9, 4),
    ("float32", 3): Tile(18, 14, 5),
    ("float64", 2): Tile(34, 18, 2),
    ("float64", 3): Tile(36, 7, 5),
}


def sweep_blocked(cube: Static[Cube], ctx, sweeps: Pass):
    """The kernel."""
    zero, numbers = real(0.0), read_numbers(cube.stencil, sweeps.values)
    place = place_of_thread(cube, sweeps)
    states = start_levels(cube, load_rows(cube, place.ring, zero))
    for k in range(AHEAD):
        copy_plane(cube, place.start + k, place)
    x, stop = place.start, place.own_x + place.own_planes + cube.depth
    while x < stop:
        states = turn_at(cube, states, x, (place, numbers), zero)
        states = turn_at(cube, states, x + 1, (place, numbers), zero)
        states = turn_at(cube, states, x + 2, (place, numbers), zero)
        x += TURNS
    add_squares_of_levels(cube, sweeps.words, states)


def copy_plane(cube: Static[Cube], x, place):
    """Begin to copy plane x of level 0 to the ring."""
    slot = place.ring + ((x - place.start) & (RING - 1)) * cube.plane_bytes
    needed = within(x - place.start, place.planes) & place.needed
    copy_rows(cube, needed, slot, place.old + x * place.plane, place)
    end_group()


def turn_at(cube: Static[Cube], states, x, thread, zero):
    """The states of the levels after the turn in which plane x of level 0 arrives."""
    place = thread[0]
    copy_plane(cube, x + AHEAD, place)
    wait_for_group()
    k = x - place.start
    after = load_rows(cube, place.ring + (k & (RING - 1)) * cube.plane_bytes, zero)
    back = ((k - 1) & (RING - 1)) * cube.plane_bytes
    turn = Turn(x, back, ((k - 1) & 1) * cube.plane_bytes, (k & 1) * cube.plane_bytes)
    states = advance_levels(cube, states, after, turn, thread)
    sync()
    return states


def sweep_blocked_pass(stencil: Stencil, depth: int, norms: str) -> PassKernel:
    """The pass."""
    cube, item_bytes = Cube(stencil, depth, norms, TILES[stencil.dtype, depth]), stencil.item_bytes
    shared_bytes = (RING + 2 * (depth - 1)) * cube.plane_bytes + 2 * cube.row_bytes

    def launch(box: Box, sides: Box, storage: Storage) -> PassLaunch:
        start_z = sector_start(storage.lead * item_bytes, box.z0, item_bytes)
        tiles, planes = -(-(box.z1 - start_z) // cube.own_z) * -(-(box.y1 - box.y0) // cube.own_y), box.x1 - box.x0

        def in_chunks(chunks: int) -> PassLaunch:
            chunk, wait = -(-planes // chunks), None
            if tiles * -(-planes // chunk) <= storage.processors:
                wait, chunk = WAIT_PLANES, -(-(planes + WAIT_PLANES * (sides.x0 + sides.x1)) // chunks)
            cut, waiting = cut_into_chunks(planes, chunk, storage.lead, depth, (sides.x0, sides.x1), wait)
            return pass_launch(cube.threads, cut, tiles, waiting, any(sides[2:]), wait is not None)

        def turns(candidate: PassLaunch) -> int:
            """Number of turns of a multiprocessor."""
            return -(-candidate.blocks // storage.processors) * -(-(candidate.cut.chunk + 2 * depth) // TURNS) * TURNS

        return min(map(in_chunks, range(1, planes + 1)), key=turns)

    kernel = specialised(sweep_blocked, cube)
    return PassKernel(kernel, LaunchBounds(cube.threads), shared_bytes, 0, launch)
