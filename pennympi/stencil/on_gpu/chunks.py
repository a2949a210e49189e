"""The chunks of a pass along its first dimension, and the order in which the blocks of a launch compute them.

Chunks that read a halo wait for it.  If all blocks run at a time these are the first chunks of a launch, whose blocks
also receive the halos, and they are shorter.  Otherwise they are the last chunks, and find their halos there.
"""

from ...compile.pass_kernel import PassLaunch
from ...kernels.sweep.records import Cut


def cut_into_chunks(
    n_points: int, chunk: int, lead: int, depth: int, sides: tuple[int, int], wait: int | None = None
) -> tuple[Cut, int]:
    """The cut, with the order of its chunks, and the number of those that read a halo.

    n_points: of the first dimension;  chunk: points of a chunk
    depth:    points that a chunk reads before and after its own
    sides:    1 where the halo before, or after, comes from a neighbour, else 0
    wait:     approximate number of points that a chunk computes while it waits for its halo; None: the last chunks wait
    """
    own = max(depth, chunk - (wait or 0))  # of a chunk that waits: no other chunk then reads its halo
    if own < chunk and own * sum(sides) < n_points:
        missing, tail = sides[0] * (chunk - own), sides[1] * own
        n_chunks = -(-(n_points + missing - tail) // chunk) + sides[1]
        return Cut(chunk, lead, n_chunks, -sides[1] % n_chunks, missing, tail), sum(sides)
    n_chunks = -(-n_points // chunk)
    n_first = sides[0] * min(n_chunks, -(-depth // chunk))
    n_last = sides[1] * (n_chunks - max(0, (n_points - depth) // chunk))
    first = n_first if wait is None else -n_last
    return Cut(chunk, lead, n_chunks, first % n_chunks), min(n_chunks, n_first + n_last)


def pass_launch(threads: int, cut: Cut, of_chunk: int, waiting: int, all_wait: bool, all_at_a_time: bool) -> PassLaunch:
    """The launch of ``of_chunk`` blocks for each chunk.

    waiting:  number of chunks that read a halo;  all_wait: all blocks read one
    all_at_a_time: the cut has a ``wait``, so that the first chunks wait, else the last
    """
    blocks = of_chunk * cut.n_chunks
    if all_wait:
        return PassLaunch(blocks, threads, cut, blocks)
    n_waiting = of_chunk * waiting
    return PassLaunch(blocks, threads, cut, n_waiting, 0 if all_at_a_time else blocks - n_waiting, all_at_a_time)


def chunk_at(cut: Cut, first, stop, number):
    """The first point and the number of points of the chunk that is computed as chunk ``number``.

    first, stop: the points of all chunks
    """
    k = number + cut.first
    if k >= cut.n_chunks:
        k -= cut.n_chunks
    begin, last = first + k * cut.chunk - cut.missing, stop - cut.tail
    if begin >= last:
        return last, cut.tail
    own = max(begin, first)
    return own, min(begin + cut.chunk, last) - own
