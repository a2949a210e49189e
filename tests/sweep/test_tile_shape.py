"""Where tiles send their rims: every cell that a tile waits for is written once, with the right point."""

from random import Random

import pytest

from pennympi.stencil.grid.decomposition import Decomposition
from pennympi.stencil.on_gpu.tile.tile_shape import (
    GIVES,
    LANES,
    SOURCES,
    TABLE_WORDS,
    WIDTH,
    cut_of,
    first_column,
    first_row,
    tables,
)

PACKETS = 32  # bytes of a quad's packets
PES = 1 << 40  # between the addresses of two PEs


def given(table, shape, at, point):
    """(address, point) of all that a block writes, as the kernel's ``give``.  point: of the tile, by row and column."""
    rows, width, known = table[1], table[3], table[4]
    north, south, west, east = (known >> k & 1 for k in range(4))
    depth, side = shape.depth, shape.side
    above, below, *sides = table[GIVES : GIVES + 8]
    for j in range(2 * depth + rows):
        for lane in range(side, side + -(-width // WIDTH)):
            for base, first in ((above, depth), (below, rows)):
                if base and first <= j < first + depth:
                    yield base + (j * LANES + lane) * PACKETS, point(j, WIDTH * (lane - side))
        for q in range(2 * side):
            level, up, down = sides[:3] if q < side else sides[3:]
            column = (WIDTH * (q - (0 if west else side))) if q < side else width + WIDTH * (q - side - side * east)
            to = (j * 2 * side + q % side) * PACKETS
            if level and depth * north <= j < depth + rows + depth * (not south):
                yield level + to, point(j, column)
            if up and depth <= j < 2 * depth:
                yield up + to, point(j, column)
            if down and rows <= j < depth + rows:
                yield down + to, point(j, column)


def taken(table, shape, point):
    """(cell, point, source) of all that a block waits for, as the kernel's ``take``."""
    rows, width, known = table[1], table[3], table[4]
    north, south, west, east = (known >> k & 1 for k in range(4))
    depth, side = shape.depth, shape.side
    for cell in range(shape.cells):
        if cell < 2 * LANES * depth:
            lane, jr = cell % LANES, cell // LANES
            if side <= lane < side + -(-width // WIDTH) and (south if jr >= depth else north):
                j = jr if jr < depth else jr + rows
                yield cell, point(j, WIDTH * (lane - side)), int(jr >= depth)
        else:
            j, q = divmod(cell - 2 * LANES * depth, 2 * side)
            level, first = (west, 2) if q < side else (east, 5)
            column = WIDTH * (q - side) if q < side else width + WIDTH * (q - side)
            if j < depth:
                if north or level:
                    yield cell, point(j, column), first + 1
            elif j < depth + rows:
                if level:
                    yield cell, point(j, column), first
            elif j < 2 * depth + rows and (south or level):
                yield cell, point(j, column), first + 2


@pytest.mark.parametrize("seed", range(60))
def test_every_cell_is_given_once(seed):
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
        made = tables(parts, pe, cut, inbox, PACKETS)
        assert len(made) == cut.tiles[0] * cut.tiles[1]
        covered = 0
        for block, table in enumerate(made):
            assert len(table) == TABLE_WORDS
            first, own = parts.first(pe), parts.own(pe)
            y, x = table[0] - 1 + first[0], table[2] - 1 + first[1]
            assert y == first[0] + first_row(own[0], cut.tiles[0], block // cut.tiles[1])
            assert x == first[1] + first_column(own[1], cut.tiles[1], block % cut.tiles[1])
            assert table[1] >= 2 * depth and table[1] + 2 * depth <= cut.shape.rows * cut.shape.warps
            assert table[3] + 2 * WIDTH * cut.shape.side <= LANES * WIDTH
            covered += table[1] * table[3]

            def point(j, column, y=y, x=x):
                """The point of the whole grid at a row of the tile and a column, from the tile's first own point on."""
                at = [y + j - depth, x + column]
                for d in (0, 1):
                    if periodic[d]:
                        at[d] %= shape[d]
                return tuple(at)

            for to, which in given(table, cut.shape, block, point):
                assert to not in written, (pe, block)
                written[to] = pe, which
            wanted += [
                (table[5] + cell * PACKETS, which, table[SOURCES + k])
                for cell, which, k in taken(table, cut.shape, point)
            ]
        assert covered == own[0] * own[1]
    for at, which, source in wanted:
        pe, found = written.pop(at)
        assert pe == source
        # The last quad of a row may extend beyond the points: its own points come first.
        assert found == which
    assert not written
