"""The rims that tiles send: every cell that a tile waits for is written once, with the right point."""

from random import Random

import pytest

from pennympi.stencil.grid.decomposition import Decomposition
from pennympi.stencil.on_gpu.tile.tile_shape import (
    LANES,
    SOURCES,
    TABLE_WORDS,
    TARGETS,
    WIDTH,
    cut_of,
    first_column,
    first_row,
    tables,
)

PACKETS = 32  # bytes of a quad's packets
PES = 1 << 40  # distance of the addresses of two PEs


def sent(table, shape, point):
    """(address, point) of each quad that a block sends, as ``tile_rim.send``.  point: (row, column) -> point"""
    rows, width, flags = table[1], table[3], table[4]
    above, below, left, right = (flags >> k & 1 for k in range(4))
    depth, side = shape.depth, shape.side
    to_above, to_below, *to_sides = table[TARGETS : TARGETS + 8]
    for j in range(2 * depth + rows):
        for lane in range(side, side + -(-width // WIDTH)):
            for base, first in ((to_above, depth), (to_below, rows)):
                if base and first <= j < first + depth:
                    yield base + (j * LANES + lane) * PACKETS, point(j, WIDTH * (lane - side))
        for q in range(2 * side):
            to_side, to_upper, to_lower = to_sides[:3] if q < side else to_sides[3:]
            column = (WIDTH * (q - (0 if left else side))) if q < side else width + WIDTH * (q - side - side * right)
            offset = (j * 2 * side + q % side) * PACKETS
            if to_side and depth * above <= j < depth + rows + depth * (not below):
                yield to_side + offset, point(j, column)
            if to_upper and depth <= j < 2 * depth:
                yield to_upper + offset, point(j, column)
            if to_lower and rows <= j < depth + rows:
                yield to_lower + offset, point(j, column)


def received(table, shape, point):
    """(cell, point, source) of each quad that a block waits for, as ``tile_rim.receive``."""
    rows, width, flags = table[1], table[3], table[4]
    above, below, left, right = (flags >> k & 1 for k in range(4))
    depth, side = shape.depth, shape.side
    for cell in range(shape.cells):
        if cell < 2 * LANES * depth:
            lane, jr = cell % LANES, cell // LANES
            if side <= lane < side + -(-width // WIDTH) and (below if jr >= depth else above):
                j = jr if jr < depth else jr + rows
                yield cell, point(j, WIDTH * (lane - side)), int(jr >= depth)
        else:
            j, q = divmod(cell - 2 * LANES * depth, 2 * side)
            has_tile, first = (left, 2) if q < side else (right, 5)
            column = WIDTH * (q - side) if q < side else width + WIDTH * (q - side)
            if j < depth:
                if above or has_tile:
                    yield cell, point(j, column), first + 1
            elif j < depth + rows:
                if has_tile:
                    yield cell, point(j, column), first
            elif j < 2 * depth + rows and (below or has_tile):
                yield cell, point(j, column), first + 2


@pytest.mark.parametrize("seed", range(60))
def test_every_cell_is_sent_once(seed):
    random = Random(seed)
    while True:
        dims = random.choice([(1, 1), (1, 2), (2, 1), (2, 2), (3, 1), (1, 3), (3, 2)])
        shape = random.randint(16, 300), random.randint(16, 400)
        periodic = random.random() < 0.5, random.random() < 0.5
        depth = random.choice([1, 2, 3, 4, 5, 8])
        parts = Decomposition(shape, dims, periodic, (1, 1), tuple(range(dims[0] * dims[1])))
        cuts = [cut_of(parts, pe, depth, random.choice([4, 16, 66]), 10) for pe in range(dims[0] * dims[1])]
        if seed % 2:
            cuts = [cut_of(parts, pe, depth, 40, 10) for pe in range(dims[0] * dims[1])]
        if None not in cuts and len({(cut.tiles, cut.shape[:-1]) for cut in cuts}) == 1:
            break
    inbox_bytes = 2 * cuts[0].shape.cells * PACKETS

    def inbox(pe, block):
        return (pe + 1) * PES + block * inbox_bytes

    written, wanted = {}, []
    for pe, cut in enumerate(cuts):
        tables_of_pe = tables(parts, pe, cut, inbox, PACKETS)
        assert len(tables_of_pe) == cut.tiles[0] * cut.tiles[1]
        covered = 0
        for block, table in enumerate(tables_of_pe):
            assert len(table) == TABLE_WORDS
            first, own = parts.first(pe), parts.own(pe)
            row, left = table[0] - 1 + first[0], table[2] - 1 + first[1]
            assert row == first[0] + first_row(own[0], cut.tiles[0], block // cut.tiles[1])
            assert left == first[1] + first_column(own[1], cut.tiles[1], block % cut.tiles[1])
            assert table[1] >= 2 * depth and table[1] + 2 * depth <= cut.shape.rows * cut.shape.warps
            assert table[3] + 2 * WIDTH * cut.shape.side <= LANES * WIDTH
            covered += table[1] * table[3]

            def point(j, column, row=row, left=left):
                """The point of the whole grid at row j of the tile, and at a column, from the first own column on."""
                indices = [row + j - depth, left + column]
                for d in (0, 1):
                    if periodic[d]:
                        indices[d] %= shape[d]
                return tuple(indices)

            for address, which in sent(table, cut.shape, point):
                assert address not in written, (pe, block)
                written[address] = pe, which
            wanted += [
                (table[5] + cell * PACKETS, which, table[SOURCES + k])
                for cell, which, k in received(table, cut.shape, point)
            ]
        assert covered == own[0] * own[1]
    for address, which, source in wanted:
        assert written.pop(address) == (source, which)
    assert not written
