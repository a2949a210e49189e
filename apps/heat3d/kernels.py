"""The kernels of a step: one that goes by rows, and for GPUs one whose threads load two or four points at once.

A plane of the local field, halos included, is one run of memory.  A thread of ``by_fours`` owns four consecutive elements
of it, wherever its rows end, in a few planes one after another, and keeps those of the planes before and after:

    plane  .ooooooo..ooooooo..ooooooo.    o: own points of three rows, .: halo
    fours  |  |   |   |   |   |   |       x neighbours and the points themselves: one load of 16 bytes each
                                          y neighbours: a row away, so by 16, 8 or 4 bytes, as long rows allow
"""

import math

from pennympi.kernels.block import block, lanes, load, real, store

from ..program.device import address

PLANES, THREADS = 8, 256  # of a block


def stepped(before, after, above, below, left, right, here):  # a point's new value, from the six beside it and itself
    return real(0.125) * ((((before + after) + (above + below)) + (left + right)) + (here + here))


def step_by_rows(ctx, new, old, x0, y0, z0, x1, y1, z1, plane, row, planes, down):  # points x0..x1-1, y0..y1-1, z0..z1-1
    x, y = x0 + block() // down * planes, y0 + block() % down * 256  # plane, row: elements to the next point in x, in y
    for z in range(z0, z1, 128):
        for j in lanes(y, min(y + 256, y1)):
            for i in range(x, min(x + planes, x1)):
                for at in range(i * plane + j * row + z, i * plane + j * row + min(z + 128, z1)):
                    x_and_y = load(old, at - plane), load(old, at + plane), load(old, at - row), load(old, at + row)
                    store(new, at, stepped(*x_and_y, load(old, at - 1), load(old, at + 1), load(old, at)))


def four(at, i):  # consecutive elements, of which the compiler loads as many at once as it knows that ``at`` allows
    return load(at, i), load(at, i + 1), load(at, i + 2), load(at, i + 3)


def four_stepped(before, after, above, below, line):  # line: the four, and one more at each end
    a = stepped(before[0], after[0], above[0], below[0], line[0], line[2], line[1])
    b = stepped(before[1], after[1], above[1], below[1], line[1], line[3], line[2])
    c = stepped(before[2], after[2], above[2], below[2], line[2], line[4], line[3])
    d = stepped(before[3], after[3], above[3], below[3], line[3], line[5], line[4])
    return a, b, c, d


def by_fours(plane, row, item):
    """A kernel for fields whose planes and rows are so many elements of 4 or 8 bytes apart, which its compiler knows."""
    align = math.gcd(16, plane * item)  # of which all fours' addresses are multiples

    def step_by_fours(ctx, new, old, x0, x1, begin, phase, length, width, tiles):
        # planes x0..x1-1; begin, length: of the run from a plane's first point to its last; width: points of a row
        # phase: elements from a multiple of 16 bytes to the run
        x, tile = x0 + block() // tiles * PLANES, block() % tiles * THREADS
        for k in lanes(tile, tile + THREADS):
            first = 4 * k - phase  # of the four, in the run; some may lie outside of it, or between rows
            column = first % row
            if first < length:
                at = old + (x * plane + begin + first) * item
                before, here = four(at & -align, -plane), four(at & -align, 0)
                for _ in range(min(PLANES, x1 - x)):
                    at, to = at & -align, (new + (at - old)) & -align  # changes nothing, and tells the compiler
                    after, above, below = four(at, plane), four(at, -row), four(at, row)
                    values = four_stepped(before, after, above, below, (load(at, -1), *here, load(at, 4)))
                    if column + 4 <= width:
                        for i in range(4):
                            store(to, i, values[i])
                    else:
                        for i in range(4):
                            if 0 <= first + i < length and (column + i < width or row <= column + i < row + width):
                                store(to, i, values[i])
                    before, here, at = here, after, at + plane * item

    return step_by_fours


def kernels_for(team, u):  # what ``compute`` launches for fields like u (grid.local)
    plane, row, item = u.strides
    fours = by_fours(plane // item, row // item, item)
    return team.kernel(step_by_rows, u.dtype), team.kernel(fours, u.dtype, THREADS)


def compute(team, kernels, new, old, first, stop, stream):
    """Points first..stop-1 of new from old, both (grid.local), of which neither is at the rim."""
    n, (plane, row, item) = [high - low for low, high in zip(first, stop, strict=True)], old.strides
    plane, row = plane // item, row // item
    if team.backend == "cuda" and 2 * n[2] >= row:  # else most of a row would be loaded in vain
        begin, length = first[1] * row + first[2], (n[1] - 1) * row + n[2]
        phase = (address(old) // item + begin) % 4
        tiles, run = -(-(phase + length) // (4 * THREADS)), (first[0], stop[0], begin, phase, length, n[2])
        kernels[1](-(-n[0] // PLANES) * tiles, new, old, *run, tiles, stream=stream, threads=THREADS)
    else:
        planes, down = min(n[0], 4), -(-n[1] // 256)
        kernels[0](-(-n[0] // planes) * down, new, old, *first, *stop, plane, row, planes, down, stream=stream)
