"""The chunks of a pass along its first dimension: those that read a halo are the first of a launch, and shorter."""

from ...kernels.sweep.records import Cut


def cut_into_chunks(n_points: int, cut: Cut, depth: int, sides: tuple[int, int]) -> tuple[Cut, int]:
    """The cut with the order of its chunks, and how many chunks read a halo: the first ones in this order.

    n_points: of the first dimension;  depth: points that a chunk reads before and after its own
    sides:    1 where the halo before, or after, comes from a neighbour, else 0
    """
    n_chunks = -(-(n_points + cut.missing) // cut.chunk)
    n_first = sides[0] * min(n_chunks, -(-(depth + cut.missing) // cut.chunk))
    n_last = sides[1] * (n_chunks - max(0, (n_points + cut.missing - depth) // cut.chunk))
    return cut._replace(n_chunks=n_chunks, n_last=n_last % n_chunks), min(n_chunks, n_first + n_last)


def chunk_at(cut: Cut, first, stop, number):
    """The first point and the number of points of the chunk that is computed as chunk ``number``.

    first, stop: the points of all chunks
    """
    k = number - cut.n_last
    if k < 0:
        k += cut.n_chunks
    begin = first + k * cut.chunk - cut.missing
    own = max(begin, first)
    return own, min(begin + cut.chunk, stop) - own
