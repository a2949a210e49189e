"""Inboxes: the cells that blocks give one another, of this PE or of others, while they run.

A line is 16 bytes: two cells of float32, or one of float64 in two halves, and beside each 4 bytes the number of the
exchange.  So 8 bytes, which arrive at once, show by themselves that they have come: NCCL's LL protocol.  An inbox has two
halves, used in turn.  A block that gives lines of exchange e + 2 has taken those of e + 1 from all blocks to which it
gives, and these had taken theirs of e before.  Numbers go on from launch to launch, so nothing is ever cleared.

A number has 31 bits.  A block that has given up adds POISONED, so that a block that waits for its lines gives up too.
"""

from functools import cache
from typing import Any, NamedTuple

from llvmlite import ir
from numba import cuda
from numba.core import cgutils
from numba.cuda import types
from numba.cuda.extending import intrinsic

from ..intrinsics import assembly, load_4, load_word
from ..pointers import at
from ..primitives import SPINS
from ..stubs import missing_line
from .shared import load_number, store_number

LINE_BYTES = 16
NUMBERS, POISONED = (1 << 31) - 1, 1 << 31
GONE = -1  # what ``missing_line`` returns where the wait is over
_I32, _I64, _VOID = ir.IntType(32), ir.IntType(64), ir.VoidType()


class Inbox(NamedTuple):
    """What a block takes and gives.

    here:    address of the half of its inbox, and of all inboxes of a PE, for this exchange
    taken:   address of (lines,) uint32: the elements of a line's cells in shared memory, 16 bits each
    senders: address of pairs of words: a PE, and the line after its last one
    given:   address of (lines,) words: 32 bits of the line's place among those of the receiving PE, then the elements
    runs:    address of (n_runs,) pairs of words: a PE, and the line of ``given`` after its last one
    """

    here: int
    all: int
    taken: int
    n_taken: int
    senders: int
    given: int
    runs: int
    n_runs: int


@intrinsic
def send_line(typing, address, number, cells):
    """Write a line: cells, a tuple of 8 bytes, and the number of the exchange."""

    def code(context, b, signature, args):
        number = b.shl(args[1], _I64(32))
        values = cgutils.unpack_tuple(b, args[2])
        if len(values) == 1:
            both = b.bitcast(values[0], _I64)
            words = [b.and_(both, _I64(0xFFFFFFFF)), b.lshr(both, _I64(32))]
        else:
            words = [b.zext(b.bitcast(value, _I32), _I64) for value in values]
        operands = [args[0], *(b.or_(word, number) for word in words)]
        assembly(b, _VOID, operands, "st.relaxed.sys.global.v2.u64 [$0], {$1,$2};", "l,l,l,~{memory}")
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, cells), code


@intrinsic
def poll_line(typing, address, like):
    """A line as it is now: (the numbers with its two halves, its cells)."""
    kind = types.unliteral(like)
    cells = types.UniTuple(kind, 64 // kind.bitwidth)

    def code(context, b, signature, args):
        both = ir.LiteralStructType([_I64] * 2)
        pair = assembly(b, both, args[:1], "ld.relaxed.sys.global.v2.u64 {$0,$1}, [$2];", "=l,=l,l,~{memory}")
        words = [b.extract_value(pair, k) for k in (0, 1)]
        numbers = [b.lshr(word, _I64(32)) for word in words]
        low = [b.trunc(word, _I32) for word in words]
        if kind.bitwidth == 64:
            both = b.or_(b.zext(low[0], _I64), b.shl(b.zext(low[1], _I64), _I64(32)))
            values = [b.bitcast(both, ir.DoubleType())]
        else:
            values = [b.bitcast(one, ir.FloatType()) for one in low]
        return context.make_tuple(b, signature.return_type, [*numbers, cgutils.pack_array(b, values)])

    return types.Tuple((types.int64, types.int64, cells))(types.int64, like), code


def there(line, number):
    """Whether a line is whole and of this exchange."""
    return (line[0] == number) & (line[1] == number)


def sender_of(senders, i):
    """The PE that sends line i."""
    while load_word(senders + 8) <= i:
        senders += 16
    return load_word(senders)


def missing(ctx, inbox, line, i, number, since_ns):
    """``missing_line`` of line i where it has not come."""
    if since_ns == GONE or there(line, number):
        return since_ns
    found = line[0] if line[0] != number else line[1]
    return missing_line(ctx, found, number, sender_of(inbox.senders, i), since_ns)


@cache
def exchanger(cells_of_line: int) -> Any:
    """``exchange(ctx, inbox, shared, number, gone, like)``: gives this block's lines, then takes those of its inbox.

    shared: address of the cells;  number: of the exchange;  gone: whether this block has given up
    Returns whether this thread has given up, now or before.  Barriers of the block must stand before and after it.
    """
    item_bytes = 8 // cells_of_line

    def both_of(shared, entry, like):
        x = load_number(shared + (entry & 0xFFFF) * item_bytes, like)
        return x, load_number(shared + (entry >> 16) * item_bytes, like)

    def one_of(shared, entry, like):
        return (load_number(shared + (entry & 0xFFFF) * item_bytes, like),)

    def keep_both(shared, entry, cells):
        store_number(shared + (entry & 0xFFFF) * item_bytes, cells[0])
        store_number(shared + (entry >> 16) * item_bytes, cells[1])

    def keep_one(shared, entry, cells):
        store_number(shared + (entry & 0xFFFF) * item_bytes, cells[0])

    cells_at, keep = (both_of, keep_both) if cells_of_line == 2 else (one_of, keep_one)

    def give(ctx, inbox, shared, number, like):
        i = cuda.threadIdx.x
        for run in range(inbox.n_runs):
            to = at(ctx, inbox.all, load_word(inbox.runs + 16 * run))
            stop = load_word(inbox.runs + 16 * run + 8)
            while i < stop:
                entry = load_word(inbox.given + 8 * i)
                cells = cells_at(shared, (entry >> 32) & 0xFFFFFFFF, like)
                send_line(to + (entry & 0xFFFFFFFF) * LINE_BYTES, number, cells)
                i += cuda.blockDim.x

    def exchange(ctx, inbox, shared, number, gone, like):
        number &= NUMBERS
        give(ctx, inbox, shared, number + POISONED * gone, like)
        step, last = cuda.blockDim.x, inbox.n_taken - 1
        since_ns = GONE if gone else 0
        i = cuda.threadIdx.x
        while i <= last:  # four lines at a time, so that their loads do not wait for one another
            i1, i2, i3 = min(i + step, last), min(i + 2 * step, last), min(i + 3 * step, last)
            spins = 0
            while True:
                a = poll_line(inbox.here + i * LINE_BYTES, like)
                b = poll_line(inbox.here + i1 * LINE_BYTES, like)
                c = poll_line(inbox.here + i2 * LINE_BYTES, like)
                d = poll_line(inbox.here + i3 * LINE_BYTES, like)
                if there(a, number) & there(b, number) & there(c, number) & there(d, number):
                    break
                spins += 1
                if spins % SPINS == 0:
                    since_ns = missing(ctx, inbox, a, i, number, since_ns)
                    since_ns = missing(ctx, inbox, b, i1, number, since_ns)
                    since_ns = missing(ctx, inbox, c, i2, number, since_ns)
                    since_ns = missing(ctx, inbox, d, i3, number, since_ns)
                if since_ns == GONE:
                    break
            keep(shared, load_4(inbox.taken + 4 * i), a[2])
            keep(shared, load_4(inbox.taken + 4 * i1), b[2])
            keep(shared, load_4(inbox.taken + 4 * i2), c[2])
            keep(shared, load_4(inbox.taken + 4 * i3), d[2])
            i += 4 * step
            since_ns = GONE if since_ns == GONE else 0
        return since_ns == GONE

    return exchange
