"""AllReduce by the switch: every PE is head of 1/n of the vector, which the NVSwitch adds up and copies.

Source: NVLink SHARP as NCCL uses it (NVLS).  A PE stages its vector in symmetric memory; a
head reads its piece with one multimem.ld_reduce per 16 bytes, which the switch answers with
the sum over all PEs, and writes it back with one multimem.st, which the switch copies to all.
On entry and exit each PE posts its epoch and polls the least of all PEs' epochs, one load.

Every input is staged, symmetric or not: two PEs may give arrays at different places of the heap.

Bits: a piece is added up once, for its head, and copied, so they are the same on every PE.  The
order of the PEs and the rounding are the switch's, so another algorithm may give others.  Its
min and max may drop a NaN, and what is divided for an average must not be rounded before:
those are refused, and so is what the switch cannot add up.

Cost of P bytes: 2 alpha (each a store, and a load through the switch) + (1 + 1/n) P beta, no gamma.
"""

from ..algorithm import PARTIALS, SWITCH_ADDS, Algorithm, Limits, Place, Plan, cut
from ..block import block, blocks, copy, meet_multicast, read_epoch, reduce_multicast, store_multicast, write_epoch


def nvls(
    ctx,
    me,
    n_pes,
    item_bytes,
    acc_bytes,
    out,
    src,
    count,
    piece_elems,
    buffer_bytes,
    inbox,
    outbox,
    signals,
    epochs,
    routes,
):
    """out (count,) = op over all PEs of src (count,); out may be src.

    inbox   (blocks, 2 parities, buffer_bytes), a half holds (staged, result) of n_pes pieces of elements each
    outbox  (blocks, 2 parities, buffer_bytes): the piece of this head, then scratch
    signals (blocks, 2) words: entered, left
    """
    area_bytes = n_pes * piece_elems * item_bytes
    entered = signals + block() * 2 * 8
    epoch = read_epoch(epochs, block())
    start = block() * n_pes * piece_elems
    while start < count:
        epoch += 1
        # Nobody enters epoch e+1 before it has read the result of e, nor leaves it before all have read what
        # was staged: one half would be enough, and two let a PE stage while others still read.
        half = (block() * 2 + (epoch & 1)) * buffer_bytes
        staged, result, summed = inbox + half, inbox + half + area_bytes, outbox + half
        n = min(n_pes * piece_elems, count - start)
        copy(staged, src + start * item_bytes, n * item_bytes)
        meet_multicast(ctx, entered, epoch, n_pes)
        low = me * piece_elems
        mine = max(0, min(piece_elems, n - low))
        mine = (mine * item_bytes + 15) // 16 * 16 // item_bytes  # whole vectors; what is beyond is not read
        reduce_multicast(ctx, summed, staged + low * item_bytes, mine, summed + piece_elems * item_bytes)
        store_multicast(ctx, result + low * item_bytes, summed, mine * item_bytes)
        meet_multicast(ctx, entered + 8, epoch, n_pes)
        copy(out + start * item_bytes, result, n * item_bytes)
        start += blocks() * n_pes * piece_elems
    write_epoch(epochs, block(), epoch)


def plan(count: int, item_bytes: int, acc_bytes: int, place: Place, limits: Limits) -> Plan:
    """As many blocks as pieces of 4 KiB can feed, pieces as large as a half allows."""
    n_pes = place.n_pes
    n_blocks = min(limits.max_blocks, max(1, count * item_bytes // (n_pes * 4096)))
    return Plan(n_blocks, cut(count, n_pes * n_blocks, limits.buffer_bytes // (2 * n_pes * acc_bytes)))


def refuse(place: Place, dtype: str, op: str) -> str:
    """Why the switch can't do it, or ""."""
    if not place.multicast:
        return (
            "no switch under all PEs adds up and copies (NVLink SHARP, by NVSHMEM, with PENNYMPI_MULTICAST=auto, "
            "for a team of all PEs of the first one in its order)"
        )
    if dtype not in SWITCH_ADDS:
        return f"the switch adds up {', '.join(SWITCH_ADDS)}, and not {dtype}"
    if op not in SWITCH_ADDS[dtype]:
        given = " and ".join(SWITCH_ADDS[dtype])
        return f"the switch gives {given} of {dtype}, and {op} not with the NaN and the rounding of the other algorithms"
    return ""


ALGORITHM = Algorithm(
    name="nvls",
    sentence="every PE has the NVSwitch add up 1/n of the vector and copy it to all; two barriers",
    needs="NVLink SHARP; float32 sum and avg, float16 and bfloat16 sum",
    kernel=nvls,
    plan=plan,
    signals=lambda place: 2,
    slots=lambda place, limits: 2 * place.n_pes,
    holds=PARTIALS,
    refuse=refuse,
)
