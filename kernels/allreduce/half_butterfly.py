"""Half butterfly: whole vectors among the PEs of one half, then one swap with the other half; two hops.

Source: vLLM pull request 2192's third algorithm, for GPUs on PCIe, where all-to-all
between all of them starves the links.  Its text counts log2(n) stages, and its code
adds up inside each half and then across, which at four PEs is the same and always
two hops; the log2(n) stages at any n are ``recursive_doubling``.  Here messages are
pushed, and of an odd n the lower half has one PE more, served by the last PE.

Bits: all PEs of a half add its vectors in the PEs' order, and every PE merges the
lower half's partial with the upper's, in this order.

Cost of P bytes, h = ceil(n/2), w = acc_bytes / item_bytes:
2 alpha + (h - 1 + w) P beta + h P gamma.
"""

from ..algorithm import PARTIALS, Algorithm, Limits, Place, Plan, anywhere, cut
from ..block import block, blocks, copy, finish_merge, put_signal, read_epoch, reduce, wait, widen, write_epoch


def half_butterfly(
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

    inbox   (blocks, 2 parities, buffer_bytes), a half holds h + 1 slots of piece_elems: the own half's, the other's
    outbox  (blocks, 2 parities, buffer_bytes): own elements, then the partial of this half
    signals (blocks, 2 parities, h + 1) words, one a slot
    """
    lower = (n_pes + 1) // 2  # PEs of the lower half
    first = lower if me >= lower else 0  # of this PE's half
    mates = n_pes - lower if me >= lower else lower
    partner = me - lower if me >= lower else min(me + lower, n_pes - 1)  # who sends its partial to this PE
    partner_end = partner + 1  # of those who get this PE's
    if lower > n_pes - lower:  # an odd n: the lower half's last has no partner of its own
        partner_end += (me == n_pes - 1) - (me == lower - 1)
    slot_bytes = piece_elems * acc_bytes
    epoch = read_epoch(epochs, block())
    low = block() * piece_elems
    while low < count:
        epoch += 1
        # Whoever sends to a PE has its message of epoch e+1, or that of a mate who has it: two parities are enough, of
        # slots and words.
        parity = block() * 2 + (epoch & 1)
        half = parity * buffer_bytes
        arrived = signals + parity * (lower + 1) * 8  # (lower + 1,) words
        crossed = arrived + lower * 8
        slots, staged = inbox + half, outbox + half
        across, part = slots + lower * slot_bytes, staged + slot_bytes
        n = min(piece_elems, count - low)

        # inside the half: elements to every mate, added up in the PEs' order
        if mates > 1:
            copy(staged, src + low * item_bytes, n * item_bytes)
        for k in range(1, mates):
            mate = first + (me - first + k) % mates
            slot = slots + (me - first) * slot_bytes
            put_signal(ctx, slot, staged, n * item_bytes, arrived + (me - first) * 8, epoch, mate)
        for i in range(mates):
            elements = src + low * item_bytes
            if first + i != me:
                wait(ctx, arrived + i * 8, epoch, first + i)
                elements = slots + i * slot_bytes
            if i == 0:
                widen(ctx, part, elements, n)
            else:
                reduce(ctx, part, part, elements, n)

        # across: the partial to the partner; of an odd n the last PE has two of them
        for pe in range(partner, partner_end):
            put_signal(ctx, across, part, n * acc_bytes, crossed, epoch, pe)
        wait(ctx, crossed, epoch, partner)
        one, other = part, across
        if me >= lower:
            one, other = across, part
        finish_merge(ctx, out + low * item_bytes, one, other, n)
        low += blocks() * piece_elems
    write_epoch(epochs, block(), epoch)


def _slots(place: Place) -> int:
    return (place.n_pes + 1) // 2 + 1


def plan(count: int, item_bytes: int, acc_bytes: int, place: Place, limits: Limits) -> Plan:
    """Blocks of at least 4 KiB, pieces as large as a slot allows."""
    n_blocks = min(limits.max_blocks, max(1, count * item_bytes // 4096))
    return Plan(n_blocks, cut(count, n_blocks, limits.buffer_bytes // (_slots(place) * acc_bytes)))


ALGORITHM = Algorithm(
    name="half_butterfly",
    sentence="whole vectors inside each half of the PEs, then one swap across; two hops, a flow a link",
    needs="none",
    kernel=half_butterfly,
    plan=plan,
    signals=lambda place: 2 * _slots(place),
    slots=lambda place, limits: _slots(place),
    holds=PARTIALS,
    refuse=anywhere,
)
