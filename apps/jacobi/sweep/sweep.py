"""The kernel texts: what a launch does, over the library's primitives and ``march``.

A field is given by the address of its row 0; rows are ``pitch_bytes`` apart, a multiple of 128.  ``march`` is the one
step that has a body for each device (``march_cuda.py``, ``march_host.py``), made for a number of sweeps, for the norms
that are wanted, and for a dtype.
"""

from collections.abc import Callable
from functools import cache
from importlib import import_module
from types import FunctionType

from pennympi.kernels.block import (
    block,
    blocks,
    copy,
    fence,
    put,
    put_signal,
    read_epoch,
    signal,
    sync,
    wait,
    write_epoch,
)

WORD_BYTES = 8


def march(b, count, summed, new, old, first_row, stop_row, stride_rows, chunk_rows, nx, pitch_bytes, words, scratch):
    """new = ``count`` sweeps of old; the changes of the last ``summed`` sweeps are added to ``words``, see ``limbs.py``.

    Of the rows first_row..stop_row, chunk_rows from every stride_rows'th on; old has ``count`` more on either side.
    Block b of as many as it takes to cover the columns of all chunks; on a CPU block 0 does it all.
    scratch: on a CPU, see ``march_host.scratch_bytes``.  On a GPU the body is made for one count and summed.
    """
    raise NotImplementedError("march() has a body for each device: compile texts with sweep.bound()")


summed_march = march  # for a text with two of them


def sweeps(ctx, count, summed, new, old, first_row, stop_row, stride_rows, chunk_rows, nx, pitch_bytes, words, scratch):
    """``march`` by all blocks."""
    march(block(), count, summed, new, old, first_row, stop_row, stride_rows, chunk_rows, nx, pitch_bytes, words, scratch)


def wrap(ctx, field, rows, depth, pitch_bytes):
    """Close the ring inside one PE: its last ``depth`` rows are the halo above, its first ones the halo below."""
    nbytes = depth * pitch_bytes
    for side in range(block(), 2, blocks()):
        if side == 0:
            copy(field, field + rows * pitch_bytes, nbytes)
        else:
            copy(field + nbytes + rows * pitch_bytes, field + nbytes, nbytes)


def exchanging_sweeps(
    ctx, count, summed, new, old, rows, depth, sides, across, piece_bytes, inner_blocks, chunk_rows, nx, pitch_bytes,
    words, scratch, rows_above, arrivals, epochs, top, bottom,
):  # fmt: skip
    """``march``, and the exchange with both neighbours inside it.

    The first blocks do the edge rows, a piece of columns each, put their new rows into the neighbours' halos, and signal;
    inner_blocks others do the rows between meanwhile.  Only the edge blocks wait, and for the halo that came with the
    sweeps before: for the pieces at their own columns and at those beside.

    sides: 2 (the first ``depth`` of the rows, and the last), or 1 where the slab is too low for two (all rows)
    across: pieces of a side, each of piece_bytes of a row
    arrivals: (2 parities, 2, across) signal words, from above and from below: the last epoch whose halo has come
    epochs: (sides * across,) words of this PE;  rows_above: rows of PE ``top``
    """
    pieces = sides * across
    for b in range(block(), pieces + inner_blocks, blocks()):
        at, start, stop, band, epoch = b - pieces, 2 * depth, rows, chunk_rows, 0
        upper, lower = b < across, pieces - across <= b < pieces
        if b < pieces:
            at, start, stop = b % across, depth if upper else rows, depth + rows if lower else 2 * depth
            band, epoch = stop - start, read_epoch(epochs, b)
        # Those who told epoch e had taken e-1 from all who send to them: when e+1 is sent, none but e is under way.
        taken = arrivals + WORD_BYTES * 2 * across * (epoch & 1)
        if upper:
            await_pieces(ctx, taken, at, across, epoch, top)
        if lower:
            await_pieces(ctx, taken + WORD_BYTES * across, at, across, epoch, bottom)
        march(at, count, summed, new, old, start, stop, band, band, nx, pitch_bytes, words, scratch)
        if b < pieces:
            sync()
            low = at * piece_bytes
            nbytes = min(piece_bytes, pitch_bytes - low)
            told = arrivals + WORD_BYTES * (2 * across * ((epoch + 1) & 1) + at)
            if upper:
                source, halo = new + depth * pitch_bytes + low, new + (rows_above + depth) * pitch_bytes + low
                put_rows(ctx, halo, source, nbytes, depth, pitch_bytes, told + WORD_BYTES * across, epoch + 1, top)
            if lower:
                source = new + rows * pitch_bytes + low
                put_rows(ctx, new + low, source, nbytes, depth, pitch_bytes, told, epoch + 1, bottom)
            write_epoch(epochs, b, epoch + 1)


def persistent_sweeps(
    ctx, sweeps, first_due, every, new, old, rows, across, down, chunk_rows, piece_bytes, nx, pitch_bytes,
    words, words_bytes, scratch, rows_above, done, arrivals, epochs, me, top, bottom,
):  # fmt: skip
    """The whole loop in one kernel: every block keeps its rows and columns, and waits for those around it alone.

    There are across * down blocks, which must all run at the same time.  After each sweep a block says so to the blocks
    above, below and beside it; at the slab's edges it puts its row into the neighbour's halo with a signal instead.
    A block that has seen its neighbours' sweep k may overwrite what they read in it.  The kernel ends when the halos of
    its last sweep have come: then the field may be copied, halos included, and a launch may go on from the copy.

    first_due, every: the sweeps first_due, first_due + every, ... (the first is 1) have a norm, 0: none;
        the n-th of them adds to words + n * words_bytes (n = 0, 1, ...)
    done: (across * down,) words of this PE: sweeps that a block has done;  epochs: likewise, at the last launch's end
    arrivals: (2 parities, 2, across) signal words, from above and from below
    """
    b = block()
    at, level = b % across, b // across
    start = 1 + level * chunk_rows
    stop = min(start + chunk_rows, rows + 1)
    before = read_epoch(epochs, b)
    parity_bytes = WORD_BYTES * 2 * across
    from_above, from_below = arrivals + WORD_BYTES * at, arrivals + WORD_BYTES * (across + at)
    for k in range(1, sweeps + 1):
        epoch = before + k - 1
        # The neighbour that told epoch e had taken e-1: when e+1 is sent to it, none but e is under way.
        taken, told = (epoch & 1) * parity_bytes, ((epoch + 1) & 1) * parity_bytes
        if level == 0:
            wait(ctx, from_above + taken, epoch, top)
        else:
            wait(ctx, done + WORD_BYTES * (b - across), epoch, me)
        if level == down - 1:
            wait(ctx, from_below + taken, epoch, bottom)
        else:
            wait(ctx, done + WORD_BYTES * (b + across), epoch, me)
        if at > 0:
            wait(ctx, done + WORD_BYTES * (b - 1), epoch, me)
        if at < across - 1:
            wait(ctx, done + WORD_BYTES * (b + 1), epoch, me)
        band = stop - start
        if first_due > 0 and k >= first_due and (k - first_due) % every == 0:
            into = words + (k - first_due) // every * words_bytes
            summed_march(at, 1, 1, new, old, start, stop, band, band, nx, pitch_bytes, into, scratch)
        else:
            march(at, 1, 0, new, old, start, stop, band, band, nx, pitch_bytes, words, scratch)
        sync()
        low = at * piece_bytes
        nbytes = min(piece_bytes, pitch_bytes - low)
        if level == 0:
            halo = new + (rows_above + 1) * pitch_bytes + low
            put_signal(ctx, halo, new + pitch_bytes + low, nbytes, from_below + told, epoch + 1, top)
        if level == down - 1:
            put_signal(ctx, new + low, new + rows * pitch_bytes + low, nbytes, from_above + told, epoch + 1, bottom)
        signal(ctx, done + WORD_BYTES * b, epoch + 1, me)
        new, old = old, new
    last = before + sweeps
    if level == 0:
        wait(ctx, from_above + (last & 1) * parity_bytes, last, top)
    if level == down - 1:
        wait(ctx, from_below + (last & 1) * parity_bytes, last, bottom)
    write_epoch(epochs, b, last)


def await_pieces(ctx, arrivals, at, across, epoch, source):
    """Wait for the halo at a piece's columns and at those beside it."""
    for one in range(max(at - 1, 0), min(at + 2, across)):
        wait(ctx, arrivals + WORD_BYTES * one, epoch, source)


def put_rows(ctx, dst, src, nbytes, count, pitch_bytes, word, value, pe):
    """``count`` rows of nbytes each to PE ``pe``, then the signal."""
    for row in range(count - 1):
        put(ctx, dst + row * pitch_bytes, src + row * pitch_bytes, nbytes, pe)
    if count > 1:
        fence(ctx)
    last = (count - 1) * pitch_bytes
    put_signal(ctx, dst + last, src + last, nbytes, word, value, pe)


@cache
def bound(
    text: Callable[..., None], device: str, bodies: tuple[tuple[str, int, str], ...], dtype: str, nx: int
) -> Callable[..., None]:
    """``text`` with the bodies of a device ("host" or "cuda"), ready for ``team.kernel``.

    bodies: (name in the text, sweeps of a pass, norms: "none", "last" or "all"), for instance ("march", 1, "none")
    """
    assert isinstance(text, FunctionType)
    module = import_module(f".march_{device}", __package__)
    made = {name: module.made(sweeps, norms, dtype, nx) for name, sweeps, norms in bodies}
    clone = FunctionType(text.__code__, {**text.__globals__, **made}, text.__name__)
    clone.__annotations__ = text.__annotations__
    clone.__module__ = text.__module__
    clone.__qualname__ = "_".join([text.__name__, *(body.__name__ for body in made.values())])
    return clone
