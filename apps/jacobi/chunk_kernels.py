"""The end of a chunk of sweeps in a loop on the device: one block stores the chunk's norms, and tests them."""

from typing import NamedTuple

import numpy as np

from pennympi.kernels.block import add_shared, lanes, load, read_epoch, store, write_epoch


class Chunk(NamedTuple):
    """A chunk of a loop.

    words: address of the loop's words, see ``layout``
    norms: address of the chunk's norms;  n: number of the norms
    tol:   a norm that is due and at most ``tol`` ends the loop
    """

    words: int
    norms: int
    n: int
    tol: float


MORE, RAN, STOP, ENDED, TABLE = range(5)


def layout(n_norms: int) -> np.dtype:
    """The words of a loop with at most ``n_norms`` norms, of 8 bytes each, as a structured dtype.

    more:  1.0 while another chunk follows
    ran:   number of chunks that ran;  stop: number of chunks after which the loop ends
    ended: number of norms that end the loop
    table: for each norm of the loop 1.0 if it is due, later the norm
    """
    return np.dtype([("more", "f8"), ("ran", "i8"), ("stop", "i8"), ("ended", "i8"), ("table", "f8", n_norms)])


def end_chunk(ctx, chunk: Chunk):
    """The kernel after a chunk, of float64 elements: end the loop or begin another chunk."""
    words, ran = chunk.words, read_epoch(chunk.words, RAN)
    for k in lanes(0, chunk.n):
        place = TABLE + ran * chunk.n + k
        if load(words, place) != 0.0:
            norm = load(chunk.norms, k)
            store(words, place, norm)
            if not norm > chunk.tol:
                add_shared(words, ENDED, 1)
    write_epoch(words, RAN, ran + 1)  # is also a barrier of the block
    more = read_epoch(words, ENDED) == 0 and ran + 1 < read_epoch(words, STOP)
    for _ in lanes(0, 1):
        store(words, MORE, 1.0 if more else 0.0)
