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

from .kernels import advance_row, chunk_rows, lane, outer_rows, quotient, ratio, row_at, stop_of, turn_rows
from .records import PAP, RR, SLOT_BYTES, Directions, Faces, Loop, Part, Solution


def iterate(ctx, part: Part, loop: Loop, faces: Faces, place: Meeting):
    """loop.iterations iterations.  All blocks run at the same time; on a CPU there is one."""
    epoch, words, sums, slot = last_meeting(place), words_at(place, 0), sums_at(place, 0), loop.sums
    before, now = read_sum(slot - SLOT_BYTES + RR), read_sum(slot + RR)
    new, old, thread = loop.odd, loop.even, lane()
    for _ in range(loop.iterations):
        beta = ratio(now, before)
        for start in range(0, outer_rows(part), chunk_rows(part)):
            add_to_words(words, turn_rows(part, Directions(new, old, loop.r), loop.weight, beta, start))
        meet(ctx, place, epoch + 1)
        alpha = ratio(loop.weight * now, read_sum(sums))
        keep(slot + PAP, sums)
        for start in range(0, part.nx * part.ny, chunk_rows(part)):
            bins = no_bins()
            for row in range(start + block(), stop_of(part, start), blocks()):
                bins = advance_row(part, Solution(loop.u, loop.r, new), alpha, row_at(part, row), thread, bins)
                put_row(ctx, part, faces, loop.r, row)
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


def put_row(ctx, part: Part, faces: Faces, r, row):
    """Put a row that lies at a face of this PE's part, or at several, to the neighbours there."""
    x, item = quotient(row, part.ny), faces.item_bytes
    y, at = row - x * part.ny, r + row_at(part, row) * item
    nbytes = part.nz * item
    if y == 0 or y == part.ny - 1 or x == 0 or x == part.nx - 1 or faces.around:
        sync()  # all threads have written the row
    if x == 0 and faces.left_pe >= 0:
        put(ctx, r + (faces.left_start + y * part.row) * item, at, nbytes, faces.left_pe)
    if x == part.nx - 1 and faces.right_pe >= 0:
        put(ctx, r + (faces.right_start + y * part.row) * item, at, nbytes, faces.right_pe)
    if y == 0 and faces.below_pe >= 0:
        put(ctx, r + (faces.below_start + x * faces.below_plane) * item, at, nbytes, faces.below_pe)
    if y == part.ny - 1 and faces.above_pe >= 0:
        put(ctx, r + (faces.above_start + x * faces.above_plane) * item, at, nbytes, faces.above_pe)
    if faces.around:
        copy(at - item, at + nbytes - item, item)
        copy(at + nbytes, at, item)
