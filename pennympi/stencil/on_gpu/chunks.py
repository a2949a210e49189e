"""The chunks of a pass along its first dimension: those that read a halo are the first of a launch, and shorter."""

from ...kernels.sweep.records import Cut


def cut_into_chunks(n_points: int, chunk: int, lead: int, depth: int, sides: tuple[int, int], wait: int = 0) -> Cut:
    """The cut, with the order of its chunks and the number of those that read a halo.

    n_points: of the first dimension;  chunk: points of a chunk
    depth:    points that a chunk reads before and after its own
    sides:    1 where the halo before, or after, comes from a neighbour, else 0
    wait:     the points that a chunk computes in the time of the wait for its halo, about
    """
    own = max(depth, chunk - wait)  # of a chunk that waits: no other chunk then reads its halo
    if own < chunk and own * sum(sides) < n_points:
        missing, tail = sides[0] * (chunk - own), sides[1] * own
        n_chunks = -(-(n_points + missing - tail) // chunk) + sides[1]
        return Cut(chunk, lead, n_chunks, sides[1], sum(sides), missing, tail)
    n_chunks = -(-n_points // chunk)
    n_first = sides[0] * min(n_chunks, -(-depth // chunk))
    n_last = sides[1] * (n_chunks - max(0, (n_points - depth) // chunk))
    return Cut(chunk, lead, n_chunks, n_last % n_chunks, min(n_chunks, n_first + n_last))


def chunk_at(cut: Cut, first, stop, number):
    """The first point and the number of points of the chunk that is computed as chunk ``number``.

    first, stop: the points of all chunks
    """
    k = number - cut.n_last
    if k < 0:
        k += cut.n_chunks
    begin, last = first + k * cut.chunk - cut.missing, stop - cut.tail
    if begin >= last:
        return last, cut.tail
    own = max(begin, first)
    return own, min(begin + cut.chunk, last) - own
