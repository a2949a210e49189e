"""How a part is cut into tiles."""

from pennympi.kernels.in_kernel import MAX_VALUES

from .points import width
from .records import Part, Tiles

BEYOND = 2  # planes more that a tile reads: the cost of a cut along x


def by_rows(part: Part) -> Tiles:
    """For a block that is one thread."""
    rows = max(1, min(part.ny, MAX_VALUES // width(part)))
    return tiles_of(part, 1, rows * width(part), 1)


def by_pairs(part: Part, threads: int, blocks: int) -> Tiles:
    """For blocks of so many threads, of which ``blocks`` run at the same time."""
    run = 2 * threads
    beside = -(-part.ny * width(part) // run)

    def cost(planes: int) -> int:
        """Planes that a block reads in all."""
        return -(-beside * -(-part.nx // planes) // blocks) * (planes + BEYOND)

    return tiles_of(part, min(range(1, part.nx + 1), key=cost), run, blocks)


def tiles_of(part: Part, planes: int, run: int, blocks: int) -> Tiles:
    """The record."""
    beside = -(-part.ny * width(part) // run)
    number = -(-part.nx // planes) * beside
    blocks = min(blocks, number)
    return Tiles(planes, run, beside, number, blocks, max(1, MAX_VALUES // (planes * run)) * blocks)
