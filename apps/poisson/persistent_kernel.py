"""A kernel that does a whole round of iterations: its blocks meet twice an iteration, and so do all PEs.

The meetings are the sums.  They order everything else as well, so that halos need no signals: a PE puts its faces of r
into its neighbours' halos between the two.  By the first meeting all blocks of all PEs have read the halos of the
iteration before; and who has come from the second one sees what was put before it.
"""

from pennympi.kernels.block import block, blocks, copy, fence, put, sync
from pennympi.kernels.in_kernel import (
    WORDS_BYTES,
    Meeting,
    add_to_words,
    last_meeting,
    meet,
    no_bins,
    read_sum,
    sums_at,
    words_at,
)

from .kernels import advance_box, box_at, lane, ratio, turn_tiles
from .records import PAP, RR, SLOT_BYTES, Box, Directions, Faces, Loop, Part, Solution, Tiles


def iterate(ctx, part: Part, loop: Loop, faces: Faces, place: Meeting, tiles: Tiles):
    """loop.iterations iterations.  All blocks run at the same time; on a CPU there is one."""
    epoch, words, sums, slot = last_meeting(place), words_at(place, 0), sums_at(place, 0), loop.sums
    before, now = read_sum(slot - SLOT_BYTES + RR), read_sum(slot + RR)
    new, old, thread = loop.odd, loop.even, lane()
    for _ in range(loop.iterations):
        beta = ratio(now, before)
        for start in range(0, tiles.number, tiles.chunk):
            add_to_words(words, turn_tiles(part, Directions(new, old, loop.r), loop.weight, beta, tiles, start))
        meet(ctx, place, epoch + 1)
        alpha = ratio(loop.weight * now, read_sum(sums))
        keep(slot + PAP, sums)
        for start in range(0, tiles.number, tiles.chunk):
            bins = no_bins()
            for k in range(start + block(), min(start + tiles.chunk, tiles.number), blocks()):
                box = box_at(part, tiles, k)
                bins = advance_box(part, Solution(loop.u, loop.r, new), alpha, tiles, box, thread, bins)
                put_faces(ctx, part, faces, loop.r, box)
            add_to_words(words, bins)
        fence(ctx)
        meet(ctx, place, epoch + 2)
        before, now = now, read_sum(sums)
        epoch, slot = epoch + 2, slot + SLOT_BYTES
        keep(slot + RR, sums)
        new, old = old, new


def keep(slot, sums):
    """Write a sum to its place among those of the round, for the host."""
    if block() == 0:
        copy(slot, sums, WORDS_BYTES)


def put_faces(ctx, part: Part, faces: Faces, r, box: Box):
    """Put what a box has of the faces of this PE's part to the neighbours there."""
    item, row = faces.item_bytes, part.row * faces.item_bytes
    at, nbytes = r + box.at * item, box.nz * item
    if box.x == 0 or box.x + box.nx == part.nx or box.y == 0 or box.y + box.ny == part.ny or faces.around:
        sync()  # all threads have written their points
    if box.x == 0 and faces.left_pe >= 0:
        put_plane(ctx, r + (faces.left_start + box.y * part.row + box.z) * item, at, row, box, nbytes, faces.left_pe)
    if box.x + box.nx == part.nx and faces.right_pe >= 0:
        to = r + (faces.right_start + box.y * part.row + box.z) * item
        put_plane(ctx, to, at + (box.nx - 1) * part.plane * item, row, box, nbytes, faces.right_pe)
    for x in range(box.nx):
        start = at + x * part.plane * item
        if box.y == 0 and faces.below_pe >= 0:
            to = r + (faces.below_start + (box.x + x) * faces.below_plane + box.z) * item
            put(ctx, to, start, nbytes, faces.below_pe)
        if box.y + box.ny == part.ny and faces.above_pe >= 0:
            to = r + (faces.above_start + (box.x + x) * faces.above_plane + box.z) * item
            put(ctx, to, start + (box.ny - 1) * row, nbytes, faces.above_pe)
        if faces.around:
            for y in range(box.ny):
                if box.z == 0:
                    copy(start + y * row + part.nz * item, start + y * row, item)
                if box.z + box.nz == part.nz:
                    end = start + y * row + nbytes - item
                    copy(end - part.nz * item, end, item)


def put_plane(ctx, to, at, row, box: Box, nbytes, pe):
    """Put the rows of a plane of a box, ``row`` bytes apart."""
    for y in range(box.ny):
        put(ctx, to + y * row, at + y * row, nbytes, pe)
