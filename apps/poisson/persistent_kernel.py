"""A kernel that does a whole round of iterations: its blocks meet twice an iteration, and so do all PEs.

The meetings are the sums.  They order everything else as well, so that halos need no signals: a PE puts its faces of r
into its neighbours' halos between the two.  By the first meeting all blocks of all PEs have read the halos of the
iteration before; and who has come from the second one sees what was put before it.
"""

from typing import NamedTuple

from pennympi.kernels.block import block, copy, fence, lanes, load, put, store, sync
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

from .kernels import advance_box, box_at, lane, quotient, ratio, share, turn_tiles
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
            for k in share(tiles, start):
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


class Lines(NamedTuple):
    """What a box has of a face: lines of own points along z, in elements from the start of a field.

    to, at: where the first one goes, and where it lies;  to_step, at_step: to the next one
    number:  of lines;  pe: where they go
    """

    to: int
    at: int
    to_step: int
    at_step: int
    number: int
    pe: int


def lines_of(part: Part, faces: Faces, box: Box, side):
    """The lines of a box at side 0 to 3 of this PE's part."""
    along = box.y * part.row + box.z
    if side == 0:
        number = box.ny if box.x == 0 and faces.left_pe >= 0 else 0
        return Lines(faces.left_start + along, box.at, part.row, part.row, number, faces.left_pe)
    if side == 1:
        number = box.ny if box.x + box.nx == part.nx and faces.right_pe >= 0 else 0
        at = box.at + (box.nx - 1) * part.plane
        return Lines(faces.right_start + along, at, part.row, part.row, number, faces.right_pe)
    if side == 2:
        number = box.nx if box.y == 0 and faces.below_pe >= 0 else 0
        to = faces.below_start + box.x * faces.below_plane + box.z
        return Lines(to, box.at, faces.below_plane, part.plane, number, faces.below_pe)
    number = box.nx if box.y + box.ny == part.ny and faces.above_pe >= 0 else 0
    to, at = faces.above_start + box.x * faces.above_plane + box.z, box.at + (box.ny - 1) * part.row
    return Lines(to, at, faces.above_plane, part.plane, number, faces.above_pe)


def put_faces(ctx, part: Part, faces: Faces, r, box: Box):
    """Put what a box has of the faces of this PE's part to the neighbours there."""
    if box.x == 0 or box.x + box.nx == part.nx or box.y == 0 or box.y + box.ny == part.ny or faces.around:
        sync()  # all threads have written their points
    for side in range(4):
        lines, item = lines_of(part, faces, box, side), faces.item_bytes
        for k in range(lines.number):
            to, at = lines.to + k * lines.to_step, lines.at + k * lines.at_step
            put(ctx, r + to * item, r + at * item, box.nz * item, lines.pe)
    if faces.around:
        for k in lanes(0, box.nx * box.ny):
            x = quotient(k, box.ny)
            at = box.at + x * part.plane + (k - x * box.ny) * part.row
            if box.z == 0:
                store(r, at + part.nz, load(r, at))
            if box.z + box.nz == part.nz:
                store(r, at + box.nz - 1 - part.nz, load(r, at + box.nz - 1))
