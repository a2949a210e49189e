"""How a part is cut into tiles."""

from pennympi.kernels.in_kernel import MAX_VALUES

from .kernels import AT_ONCE
from .records import Part, Tiles

MOST_COLUMNS = 64  # of a tile, and at least a warp's
BEYOND = 2  # planes more that a tile reads: the cost of a cut along x


def by_rows(part: Part) -> Tiles:
    """For a block that is one thread."""
    rows = max(1, min(part.ny, MAX_VALUES // part.nz))
    return tiles_of(part, 1, rows, part.nz, 1)


def by_columns(part: Part, threads: int, blocks: int) -> Tiles:
    """For blocks of so many threads, a power of two, of which ``blocks`` run at the same time."""
    columns = 32
    while columns < min(part.nz, MOST_COLUMNS, threads):
        columns *= 2
    rows = threads // columns
    beside = -(-part.ny // rows) * -(-part.nz // columns)

    def cost(planes: int) -> int:
        """Planes that a block reads in all."""
        return -(-beside * -(-part.nx // planes) // blocks) * (planes + BEYOND)

    planes = min(range(AT_ONCE, part.nx + AT_ONCE, AT_ONCE), key=cost)
    return tiles_of(part, planes, rows, columns, blocks)


def tiles_of(part: Part, planes: int, rows: int, columns: int, blocks: int) -> Tiles:
    """The record."""
    down, across = -(-part.ny // rows), -(-part.nz // columns)
    number = -(-part.nx // planes) * down * across
    blocks = min(blocks, number)
    chunk = max(1, MAX_VALUES // (planes * rows * columns)) * blocks
    return Tiles(planes, rows, columns, down, across, number, blocks, chunk)
