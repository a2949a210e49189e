"""Implementations of the multicast primitives on a GPU: the NVSwitch adds up and copies (NVLink SHARP).

NVSHMEM makes a multicast mapping of its heap.  ``ctx`` holds the difference between the multicast address and the
symmetric address of the same memory.  A proxy fence is needed between a write at one address and a read at the other
address.
"""

from functools import cache
from typing import Any

from llvmlite import ir

from ...arrays.dtypes import DType
from ...compile import arithmetic
from ...compile import context as ctx_words
from ...compile.context import ROUNDS
from ...kernels.algorithm import SWITCH_ADDS
from ...kernels.block import EPOCH_BITS, POISON
from ..compiler.gpu import cuda, intrinsic, types
from .intrinsics import assembly, load_acquire, load_word, reading, statement, store_release
from .pointers import peer_address
from .stubs import ITEM_BYTES, add_by_switch
from .waits import GAVE_UP, SPINS, check_wait, give_up, report_wait
from .words import PAIR, load_pair, split, store_pair, vector_of

_I32, _I64 = ir.IntType(32), ir.IntType(64)
MULTICAST, PES = 8 * ctx_words.MULTICAST, 8 * ctx_words.N_PES
TAG_BITS = 62 - EPOCH_BITS
_KINDS = {"float32": "add.v4.f32", "float16": "add.acc::f32.v4.f16x2", "bfloat16": "add.acc::f32.v4.bf16x2"}


@cache
def switch_steps(dtype: DType, op: str) -> dict[str, Any]:
    """{"add_by_switch": its instruction} if the switch can reduce this dtype with this op, else {}."""
    if op not in SWITCH_ADDS.get(dtype.name, ()):
        return {}
    width = 16 // dtype.item_bytes

    @intrinsic
    def add_16_bytes(typing, address, n_pes):
        def code(context, b, signature, args):
            ptx = f"multimem.ld_reduce.relaxed.sys.global.{_KINDS[dtype.name]} {{$0,$1,$2,$3}}, [$4];"
            words = assembly(b, ir.LiteralStructType([_I32] * 4), args[:1], ptx, "=r,=r,=r,=r,l,~{memory}")
            vector = vector_of(b, [b.extract_value(words, k) for k in range(4)])
            if op == "avg":
                x = b.bitcast(vector, ir.VectorType(arithmetic.element_type(dtype), width))
                vector = arithmetic.divide(b, dtype, x, args[1], width)
            return split(b, vector, 2)

        return PAIR(types.int64, types.int64), code

    return {"add_by_switch": add_16_bytes}


@intrinsic
def store_by_switch(typing, address, pair):
    """Store 16 bytes at a multicast address."""

    def code(context, b, signature, args):
        words = [b.extract_value(args[1], k) for k in (0, 1)]
        halves = [b.trunc(b.lshr(word, ir.Constant(_I64, shift)), _I32) for word in words for shift in (0, 32)]
        ptx = "multimem.st.relaxed.sys.global.v4.f32 [$0], {$1,$2,$3,$4};"
        assembly(b, ir.VoidType(), [args[0], *halves], ptx, "l,r,r,r,r,~{memory}")
        return context.get_dummy_value()

    return types.void(types.int64, PAIR), code


# The least of all PEs' words (int64).  Later reads see the earlier writes of the words' writers.
load_least = reading("multimem.ld_reduce.acquire.sys.global.min.s64 $0, [$1];")
# Order this thread's accesses to the two addresses of the same memory.
fence_alias = statement("fence.proxy.alias;")


def reduce_multicast(ctx, dst, src, count, scratch):
    n_pes = load_word(ctx + PES)
    all_pes = src + load_word(ctx + MULTICAST)
    nbytes = count * ITEM_BYTES
    step = cuda.blockDim.x * 16
    i = cuda.threadIdx.x * 16
    while i + 3 * step < nbytes:  # four loads are under way
        p, q = add_by_switch(all_pes + i, n_pes), add_by_switch(all_pes + i + step, n_pes)
        r, s = add_by_switch(all_pes + i + 2 * step, n_pes), add_by_switch(all_pes + i + 3 * step, n_pes)
        store_pair(dst + i, p)
        store_pair(dst + i + step, q)
        store_pair(dst + i + 2 * step, r)
        store_pair(dst + i + 3 * step, s)
        i += 4 * step
    while i < nbytes:
        store_pair(dst + i, add_by_switch(all_pes + i, n_pes))
        i += step
    cuda.syncthreads()


def store_multicast(ctx, dst, src, nbytes):
    all_pes = dst + load_word(ctx + MULTICAST)
    i = cuda.threadIdx.x * 16
    if load_word(ctx + GAVE_UP) != 0:
        nbytes = 0
    while i < nbytes:
        store_by_switch(all_pes + i, load_pair(src + i))
        i += cuda.blockDim.x * 16
    cuda.syncthreads()


def meet_multicast(ctx, signal, value, n_pes):
    fence_alias()
    poison = load_word(ctx + GAVE_UP) << 1  # the sign bit, so that a poisoned word is the least word
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        store_release(signal, comparable(value) | poison)
        fence_alias()  # poll_least reads the word at its multicast address
        poll_least(ctx, signal, comparable(value), n_pes)
    cuda.syncthreads()
    fence_alias()


def comparable(value):
    """An epoch as a word whose high bits are the number of the round and whose low bits are the tag.

    So the least of all PEs' words has the least number.  If PEs meet in different calls of the same round, the wait of
    the PE with the lesser word ends, and the wait of the PE with the greater word fails.  The latter PE poisons the next
    meeting.  The other PE waits there, since every call has two meetings.
    """
    return ((value & ROUNDS) << TAG_BITS) | (value >> EPOCH_BITS)


def epoch_of(word):
    """The epoch of a word of ``comparable``."""
    return ((word & ((1 << TAG_BITS) - 1)) << EPOCH_BITS) | (word >> TAG_BITS)


def poll_least(ctx, signal, value, n_pes):
    """Wait, as one thread, until no PE's word is less than ``value``, or until poison, a word of another call, the
    deadline or the abort word ends the wait."""
    all_pes = signal + load_word(ctx + MULTICAST)
    spins = 0
    since_ns = 0
    late = 0  # number of the first PE whose word is poison or less than ``value``
    failed = False
    least = load_least(all_pes)
    while least < value and not failed:
        spins += 1
        if spins % SPINS == 0:
            late = 0
            while late < n_pes - 1 and load_acquire(peer_address(ctx, signal, late)) >= (0 if least < 0 else value):
                late += 1
            since_ns, failed = check_wait(ctx, late, since_ns)
            report_wait(ctx, late)
            failed = failed or least < 0 or least >> TAG_BITS == value >> TAG_BITS
        least = load_least(all_pes)
    if least < value:
        give_up(ctx, POISON if least < 0 else epoch_of(least), epoch_of(value), late)
