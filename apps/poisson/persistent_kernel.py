"""A kernel that does all iterations of a solve: its blocks meet twice an iteration, and so do all PEs.

The meetings are the sums.  They order everything else as well, so that halos need no signals: a PE puts its faces of r
into its neighbours' halos between the two.  By the first meeting all blocks of all PEs have read the halos of the
iteration before; and who has come from the second one sees what was put before it.
"""

from functools import cache
from typing import NamedTuple

from pennympi.kernels.block import add_shared, block, copy, fence, first, lanes, load, put, store, sync
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

from .kernels import advance_box, box_at, directions_of, lane, now_of, ratio, share, turn_tiles
from .points import quotient, width
from .records import Box, Faces, Part, Scalars, Solution, Tiles, Vectors


@cache
def iterate_of(item):
    """``iterate`` for elements of so many bytes."""

    def iterate(ctx, part: Part, v: Vectors, scalars: Scalars, most, faces: Faces, place: Meeting, tiles: Tiles):
        """At most ``most`` iterations.  All blocks run at the same time; on a CPU there is one."""
        epoch, words, sums, thread = last_meeting(place), words_at(place, 0), sums_at(place, 0), lane()
        begin = now_of(scalars)
        now, before, k = begin.rr, begin.before, begin.k
        for _ in range(most):
            d, beta = directions_of(v, k), ratio(now, before)
            for start in range(0, tiles.number, tiles.chunk):
                add_to_words(words, turn_tiles(part, d, beta, item, tiles, start))
            meet(ctx, place, epoch + 1)
            s, alpha = Solution(v.u, v.r, d.new), ratio(now, read_sum(sums))
            for start in range(0, tiles.number, tiles.chunk):
                bins = no_bins()
                for number in share(tiles, start):
                    box = box_at(part, tiles, number)
                    bins = advance_box(part, s, alpha, item, box, thread, bins)
                    put_faces(ctx, part, faces, v.r, box)
                add_to_words(words, bins)
            fence(ctx)
            meet(ctx, place, epoch + 2)
            before, now = now, read_sum(sums)
            epoch, k = epoch + 2, k + 1
            if block() == 0:
                copy(scalars.history + (k + 1) * WORDS_BYTES, sums, WORDS_BYTES)
            if not now > scalars.below:
                break
        if block() == 0 and first():
            add_shared(scalars.runs, 0, k - begin.k)

    return iterate


class Pieces(NamedTuple):
    """What a box has of a face, in elements: one piece of memory, or one in each plane.

    to, at: where the first one goes, and where it lies, from the start of a field;  to_plane: to the next one, there
    elements: of each;  number: of them;  pe: where they go
    """

    to: int
    at: int
    to_plane: int
    elements: int
    number: int
    pe: int


def place_of(part: Part, k):
    """Elements from a plane's first own point to element k of its rows."""
    y = quotient(k, width(part))
    return y * (part.row - width(part)) + k - 2


def pieces_of(part: Part, faces: Faces, box: Box, side):
    """The pieces of a box, whose elements are places, at side 0 to 3 of this PE's part.

    Along x, the points of a plane with what lies between its rows, which nobody reads there; along y, those of one row.
    """
    last = (part.ny - 1) * part.row  # row; the first one is at 0
    begin, stop = max(box.begin, 0), min(box.stop, last + part.nz)
    if side == 0:
        number = 1 if box.x == 0 and faces.left_pe >= 0 else 0
        return Pieces(faces.left_start + begin, box.at + begin, 0, stop - begin, number, faces.left_pe)
    if side == 1:
        number = 1 if box.x + box.nx == part.nx and faces.right_pe >= 0 else 0
        at = box.at + (box.nx - 1) * part.plane + begin
        return Pieces(faces.right_start + begin, at, 0, stop - begin, number, faces.right_pe)
    if side == 2:
        number = box.nx if begin < part.nz and faces.below_pe >= 0 else 0
        to, stop = faces.below_start + box.x * faces.below_plane + begin, min(stop, part.nz)
        return Pieces(to, box.at + begin, faces.below_plane, stop - begin, number, faces.below_pe)
    number, begin = box.nx if stop > last and faces.above_pe >= 0 else 0, max(begin, last)
    to = faces.above_start + box.x * faces.above_plane + begin - last
    return Pieces(to, box.at + begin, faces.above_plane, stop - begin, number, faces.above_pe)


def put_faces(ctx, part: Part, faces: Faces, r, box: Box):
    """Put what a box has of the faces of this PE's part to the neighbours there."""
    sync()  # all threads have written their points
    box = Box(box.x, box.nx, place_of(part, box.begin), place_of(part, box.stop - 1) + 1, box.at)
    item = faces.item_bytes
    for side in range(4):
        one = pieces_of(part, faces, box, side)
        for x in range(one.number if one.elements > 0 else 0):
            to, at = r + (one.to + x * one.to_plane) * item, r + (one.at + x * part.plane) * item
            put(ctx, to, at, one.elements * item, one.pe)
    if faces.around:
        join_ends(part, r, box)


def join_ends(part: Part, r, box: Box):
    """Bring what a box has of the first and the last points of rows to the halo at the other end."""
    low = quotient(max(box.begin, 0), part.row)
    rows = quotient(box.stop, part.row) + 1 - low
    for k in lanes(0, box.nx * rows):
        x = quotient(k, rows)
        row = (low + k - x * rows) * part.row
        at = box.at + x * part.plane + row
        if box.begin <= row and row < box.stop:
            store(r, at + part.nz, load(r, at))
        if box.begin < row + part.nz and row + part.nz <= box.stop:
            store(r, at - 1, load(r, at + part.nz - 1))
