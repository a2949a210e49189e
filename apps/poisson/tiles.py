"""How a part is cut into tiles."""

from pennympi.kernels.in_kernel import MAX_VALUES

from .records import Part, Stride, Tiles

BYTES = 16  # of one access at most
BEYOND = 2  # planes more that a tile reads: the cost of a cut along x


def stride_of(part: Part, item_bytes: int) -> Stride:
    """What pairs may be aligned to."""

    def least(elements: int) -> int:
        return item_bytes if elements % 2 else min(2 * item_bytes, BYTES)

    return Stride(item_bytes, least(part.plane), least(part.plane | part.row))


def by_rows(part: Part) -> Tiles:
    """For a block that is one thread."""
    rows = max(1, min(part.ny, MAX_VALUES // part.row))
    return tiles_of(part, 1, rows * part.row, part.row, 1)


def by_pairs(part: Part, threads: int, blocks: int) -> Tiles:
    """For blocks of so many threads, of which ``blocks`` run at the same time."""
    run, begin = 2 * threads, part.row & -2
    beside = -(-((part.ny + 1) * part.row - begin) // run)

    def cost(planes: int) -> int:
        """Planes that a block reads in all."""
        return -(-beside * -(-part.nx // planes) // blocks) * (planes + BEYOND)

    return tiles_of(part, min(range(1, part.nx + 1), key=cost), run, begin, blocks)


def tiles_of(part: Part, planes: int, run: int, begin: int, blocks: int) -> Tiles:
    """The record."""
    beside = -(-((part.ny + 1) * part.row - begin) // run)
    number = -(-part.nx // planes) * beside
    blocks = min(blocks, number)
    return Tiles(planes, run, begin, beside, number, blocks, max(1, MAX_VALUES // (planes * run)) * blocks)
