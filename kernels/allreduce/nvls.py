"""AllReduce by the switch: every PE has the NVSwitch add up 1/n of the vector and copy it to all; two barriers.

Source: NVLink SHARP as NCCL uses it (NVLS).  A PE reads its piece with one multimem.ld_reduce per 16 bytes, which the
switch answers with the sum over all PEs, and writes it back with one multimem.st, which the switch copies to all.  On
entry and exit each PE posts its epoch and polls the least of all PEs' epochs by one load.  Every input is copied into
the inbox, even a symmetric one: two PEs may pass arrays at different offsets of the heap.

All PEs have the same bits, since a piece is added up once and copied.  They may differ from those of other algorithms,
because the switch chooses order and rounding.  The algorithm refuses min and max, which may drop a NaN, averages of
types that would be rounded before they are divided, and all types that the switch cannot add up.
"""

from ..algorithm import PARTIALS, SWITCH_ADDS, Algorithm, Topology, per_pe
from ..block import copy, meet_multicast, reduce_multicast, store_multicast
from ..cost import Counts, Machine, Size
from ..plans import slots_plan
from ..records import PE, Reduction, Work
from ..slots import VECTOR_BYTES, block_words, inbox_of, outbox_of, word
from ..steps import first_round, store_epoch


def nvls(pe: PE, call: Reduction, work: Work):
    """out (n_elems,) = op over all PEs of src (n_elems,); out may be src.

    inbox   (blocks, 2 buffers), a buffer holds (staged, result) of n_pes pieces of elements each
    outbox  (blocks, 2 buffers): this PE's piece, then scratch
    signals (blocks, 2) words: the epoch that this PE has entered; the epoch that it has left
    """
    round_elems = pe.n_pes * call.piece_elems
    piece_bytes = call.piece_elems * call.item_bytes
    entered = block_words(work, 2)
    epoch, start, stride = first_round(work, round_elems)
    while start < call.n_elems:
        epoch += 1
        # A single buffer would suffice, since no PE enters epoch e+1 before it has read the result of e, and no PE leaves
        # e before all PEs have read the staged pieces.  With two buffers a PE stages while its peers still read.
        staged, summed = inbox_of(work, epoch), outbox_of(work, epoch)
        result = staged + pe.n_pes * piece_bytes
        nbytes = min(round_elems, call.n_elems - start) * call.item_bytes
        copy(staged, call.src + start * call.item_bytes, nbytes)
        meet_multicast(pe.ctx, entered, epoch, pe.n_pes)
        own_bytes = max(0, min(piece_bytes, nbytes - pe.me * piece_bytes))
        # The switch adds whole vectors; elements after the piece are not used.
        n_elems = (own_bytes + VECTOR_BYTES - 1) // VECTOR_BYTES * VECTOR_BYTES // call.item_bytes
        reduce_multicast(pe.ctx, summed, staged + pe.me * piece_bytes, n_elems, summed + piece_bytes)
        store_multicast(pe.ctx, result + pe.me * piece_bytes, summed, n_elems * call.item_bytes)
        meet_multicast(pe.ctx, word(entered, 1), epoch, pe.n_pes)
        copy(call.out + start * call.item_bytes, result, nbytes)
        start += stride
    store_epoch(work, epoch)


def why_not(topology: Topology, dtype: str, op: str) -> str | None:
    """The reason why the switch can't add up such a call, or None."""
    if not topology.multicast:
        return (
            "no switch under all PEs adds up and copies: that takes NVLink SHARP, NVSHMEM, "
            "PENNYMPI_MULTICAST=auto, and a team of all PEs of the first team, in its order"
        )
    if dtype not in SWITCH_ADDS:
        return f"the switch adds up {', '.join(SWITCH_ADDS)}, and not {dtype}"
    if op not in SWITCH_ADDS[dtype]:
        ops = " and ".join(SWITCH_ADDS[dtype])
        return f"the switch computes {ops} of {dtype} as the other algorithms do, and not {op}"
    return None


def cost_us(size: Size, topology: Topology, machine: Machine) -> float:
    """The switch adds up and copies; on a CPU the PE itself adds up."""
    return machine.call_us(Counts(
        rounds=size.rounds(topology.n_pes), near_steps=2, net_steps=0, messages=2,
        sent=(1 + 1 / topology.n_pes) * size.nbytes, nic=0, moved=2 * size.nbytes, added=size.nbytes,
    ))  # fmt: skip


ALGORITHM = Algorithm(
    nvls, slots_plan, slots=per_pe(2), holds=PARTIALS, signals=lambda topology: 2, shares=per_pe(1), why_not=why_not,
    cost_us=cost_us,
)  # fmt: skip
