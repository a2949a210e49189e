"""Single numbers between the blocks of a GPU that run at the same time: as packets, and as sums that count who has come.

A packet is 16 bytes, moved by one access: a float64 and the number of the exchange, so that it shows by itself that it
has come.  A counted word holds a sum in its lower COUNT_BIT bits and, above them, how many blocks have added to it.
"""

from llvmlite import ir

from ..kernels.block import POISON
from ..kernels.in_kernel.exact import BAD_WORD, BIN_BITS, BINS, HALF, NAN, TOP_BIT, WORDS, WORDS_BYTES, in_units
from .gpu import cgutils, cuda, intrinsic, types
from .intrinsics import add_int64, assembly, float_of, load_word, reading, statement, store_word
from .primitives import ALL, LANES, sums_of_warp
from .waits import GAVE_UP, ME, SPINS, check_wait, give_up, poisoned, report_wait

MOST_WARPS, MOST_SUMS = 32, 2
COUNT_BIT, FLOAT_BIAS = 52, 1023  # the exponent of a float64 begins at the same bit
ONE_BLOCK, HALF_COUNT = 1 << COUNT_BIT, 1 << (COUNT_BIT - 1)
CARRY, PER_CARRY = 2.0**BIN_BITS, 2.0**-BIN_BITS
ROUNDING = 1.5 * 2.0**52  # x + this - this is x, rounded to a whole number
MOST_TOTAL = 2.0 ** (BIN_BITS + 9)  # of a block, in units of the first part: 4096 of them fit below the counts
_I64, _F64, _VOID = ir.IntType(64), ir.DoubleType(), ir.VoidType()


@intrinsic
def put_number(typing, slot, x, number):
    """Write a packet."""

    def code(context, b, signature, args):
        ptx = "{ .reg .b128 both; mov.b128 both, {$1, $2}; st.relaxed.sys.global.b128 [$0], both; }"
        assembly(b, _VOID, [args[0], b.bitcast(args[1], _I64), args[2]], ptx, "l,l,l,~{memory}")
        return context.get_dummy_value()

    return types.void(types.int64, types.float64, types.int64), code


@intrinsic
def poll_numbers(typing, slots, number):
    """(the float64 in the slots, 0 where there is none, the number of a packet that has not come or else ``number``)."""
    n = slots.count

    def code(context, b, signature, args):
        ptx = (
            "{ .reg .pred there; .reg .b128 both; .reg .b64 zero; setp.ne.s64 there, $2, 0; mov.b64 zero, 0; "
            "mov.b128 both, {zero, $3}; @there ld.relaxed.sys.global.b128 both, [$2]; mov.b128 {$0, $1}, both; }"
        )
        pair, values, found = ir.LiteralStructType([_I64] * 2), [], args[1]
        for slot in cgutils.unpack_tuple(b, args[0]):
            both = assembly(b, pair, [slot, args[1]], ptx, "=&l,=&l,l,l,~{memory}")
            values.append(b.bitcast(b.extract_value(both, 0), _F64))
            came = b.extract_value(both, 1)
            found = b.select(b.icmp_signed("!=", came, args[1]), came, found)
        return context.make_tuple(b, signature.return_type, [cgutils.pack_array(b, values), found])

    numbers = types.UniTuple(types.float64, n)
    return types.Tuple((numbers, types.int64))(types.UniTuple(types.int64, n), types.int64), code


# The compiler moves nothing over it: without it the arithmetic that follows a packet would come first.
in_order = statement("{ .reg .u64 now; .reg .pred p; mov.u64 now, %clock64; setp.eq.u64 p, now, 0; @p nanosleep.u32 0; }")

# How long a block has added to a word before the others see it: a read at once would delay them.
pause = statement("nanosleep.u32 100;")


# The int64 at an address, as the cache of this GPU holds it now.
poll_word = reading("ld.relaxed.gpu.global.u64 $0, [$1];")


def all_sent():
    in_order()


def marked(ctx, number):
    return poisoned(ctx, number)


def send_number(slot, x, number):
    put_number(slot, x, number)


def take_numbers(ctx, slots, number, source):
    spins = 0
    since_ns = 0
    values, found = poll_numbers(slots, number)
    while found != number:
        spins += 1
        if spins % SPINS == 0:
            since_ns, failed = check_wait(ctx, source, since_ns)
            report_wait(ctx, source)
            if failed | (found >= POISON):
                give_up(ctx, found, number, source)
                return values
        values, found = poll_numbers(slots, number)
    return values


def add_counted_sums(ctx, base, values):
    partial = cuda.shared.array((MOST_SUMS, WORDS, MOST_WARPS), "float64")
    thread, warps = cuda.threadIdx.x, cuda.blockDim.x // LANES
    part = cuda.laneid >> 2
    cuda.syncthreads()  # the last call's partials have been read
    value = sums_of_warp(in_units(values[0]))
    if thread & 3 == 0:
        partial[0, part, thread // LANES] = value
    if len(values) > 1:
        value = sums_of_warp(in_units(values[1]))
        if thread & 3 == 0:
            partial[1, part, thread // LANES] = value
    cuda.syncthreads()
    k = thread // LANES
    while k < len(values):  # a warp a sum
        total, warp = 0.0, thread & 3
        while warp < warps:
            total += partial[k, part, warp]
            warp += 4
        total += cuda.shfl_xor_sync(ALL, total, 2)
        total += cuda.shfl_xor_sync(ALL, total, 1)
        # Into the part before, so that 4096 blocks fit below the counts.
        carry = (total * PER_CARRY + ROUNDING) - ROUNDING
        if part == 0:
            carry = 0.0
        total += cuda.shfl_down_sync(ALL, carry, 4) - carry * CARRY
        bad = cuda.shfl_sync(ALL, total, 0)
        whole = abs(bad) < MOST_TOTAL
        word = ONE_BLOCK
        if whole and part < BINS:
            word += int(total)
        if part == BAD_WORD and (not whole or load_word(ctx + GAVE_UP) != 0):
            word += 1
        if part <= BAD_WORD and thread & 3 == 0:
            add_int64(base + k * WORDS_BYTES + 8 * part, word)
        k += warps


def poll_counted(ctx, word, was):
    """The word, once all blocks have added to it since it ``was``; one that all can't have where the wait gives up."""
    spins = 0
    since_ns = 0
    pause()
    found = poll_word(word)
    while (found - was + HALF_COUNT) >> COUNT_BIT != cuda.gridDim.x:
        spins += 1
        if spins % SPINS == 0:
            me = load_word(ctx + ME)
            since_ns, failed = check_wait(ctx, me, since_ns)
            report_wait(ctx, me)
            if failed:
                give_up(ctx, found, was, me)
                return found
        found = poll_word(word)
    return found


def total_of(word, part, first):
    """``exact.as_float`` of the words in the lanes from ``first`` on, of which this lane has number ``part``."""
    inner = (part > 0) & (part < BINS)
    while True:  # twice, but where a carry goes on
        carry = (word + HALF) >> BIN_BITS if inner else 0
        if not cuda.any_sync(ALL, carry != 0):
            break
        word += cuda.shfl_down_sync(ALL, carry, 1) - (carry << BIN_BITS)
    x = word * float_of((FLOAT_BIAS + TOP_BIT - BIN_BITS * part) << COUNT_BIT) if part < BINS else float(word)
    a, b, c = cuda.shfl_sync(ALL, x, first), cuda.shfl_sync(ALL, x, first + 1), cuda.shfl_sync(ALL, x, first + 2)
    d, e, f = cuda.shfl_sync(ALL, x, first + 3), cuda.shfl_sync(ALL, x, first + 4), cuda.shfl_sync(ALL, x, first + 5)
    bad = cuda.shfl_sync(ALL, x, first + BAD_WORD)
    return ((((e + f) + d) + c) + b) + a if bad == 0.0 else NAN


def counted_sums(ctx, base, before, now, keep, n):
    totals = cuda.shared.array(MOST_SUMS, "float64")
    thread = cuda.threadIdx.x
    if thread < LANES:
        word, part, first = 0, thread % WORDS, thread - thread % WORDS
        if (thread < n * WORDS) & (part <= BAD_WORD):
            was = load_word(before + 8 * thread)
            found = poll_counted(ctx, base + 8 * thread, was)
            store_word(now + 8 * thread, found)
            word = found - was - cuda.gridDim.x * ONE_BLOCK
            if part == BAD_WORD:
                word |= load_word(ctx + GAVE_UP)
            if (keep != 0) & (thread < WORDS):
                store_word(keep + 8 * thread, word)
        total = total_of(word, part, first)
        if part == 0:
            totals[thread // WORDS] = total
    cuda.syncthreads()
    return totals[0], totals[1]
