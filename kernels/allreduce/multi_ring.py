"""Multi-ring AllReduce: one ring for each rail, which carries its share of the vector.

Source: the Penny worklog, part 1 ("as many rings as NICs", alternating by node, every other ring reversed).  Every NIC
sends for one ring and receives for one; ``../rings.py`` says which PE follows which.  Each ring works as in ``ring.py``.
On one node there are enough rings to use every link.  All PEs have the same bits, as in ``ring``.
"""

from typing import NamedTuple

from ..algorithm import PARTIALS, Algorithm, Limits, Plan, ToCut, Topology, per_pe
from ..block import block, blocks, copy, put_signal, read_peer, reduce, reduce_and_round, to_partials, wait
from ..cost import ring_us
from ..plans import cut_evenly
from ..records import PE, Message, Piece, Reduction, Slots, Work
from ..rings import n_rings as rings_of
from ..rings import no_rings, rings
from ..slots import buffer, slot_at, word, words
from ..steps import load_epoch, piece, store_epoch


class Round(NamedTuple):
    """A round of a block: shares from element ``start`` on, the first of which belongs to ring ``ring``."""

    epoch: int
    start: int
    ring: int


class Share(NamedTuple):
    """One ring's share of a round: n_pes pieces, from element ``start`` on.

    place, succ, pred: of this PE on the ring;  inbox, outbox: (steps,) slots;  words: (steps,)
    """

    epoch: int
    start: int
    place: int
    succ: int
    pred: int
    inbox: Slots
    outbox: Slots
    words: int


def share(pe: PE, call: Reduction, work: Work, now: Round, turn: int) -> Share:
    """The share of the ring that this block serves in its ``turn``.

    A PE that finished round e+1 on any ring proves that all PEs finished round e: two buffers are enough, and two sets
    of words.  A word has one writer.
    """
    n_rings, steps, slot_bytes = read_peer(work.peer_table, 0), 2 * (pe.n_pes - 1), call.piece_elems * call.acc_bytes
    links = word(work.peer_table, 1 + 3 * (now.ring + turn * blocks()))
    first = turn * steps
    offset = buffer(work, now.epoch) + first * slot_bytes
    return Share(
        now.epoch, now.start + turn * blocks() * pe.n_pes * call.piece_elems, read_peer(links, 0), read_peer(links, 1),
        read_peer(links, 2), Slots(work.inbox + offset, slot_bytes), Slots(work.outbox + offset, slot_bytes),
        word(words(work, now.epoch, n_rings * steps), first),
    )  # fmt: skip


def piece_at(pe: PE, call: Reduction, now: Share, step: int) -> Piece:
    """The piece that this PE sends in a step."""
    return piece(call, now.start, (now.place + 2 * pe.n_pes - step) % pe.n_pes)


def send_step(pe: PE, call: Reduction, now: Share, step: int):
    """n-1 steps pass on the partial of a chunk, and add to it; one completes it; n-2 more pass on the complete ones."""
    own = piece_at(pe, call, now, step)
    src, n, nbytes = own.src, own.n_elems, own.n_elems * call.acc_bytes
    given, ready = slot_at(now.inbox, step - 1), slot_at(now.outbox, step)
    if step == 0:
        to_partials(pe.ctx, ready, src, n)
    elif step < pe.n_pes - 1:
        reduce(pe.ctx, ready, given, src, n)
    else:
        nbytes = n * call.item_bytes
        if step == pe.n_pes - 1:
            reduce_and_round(pe.ctx, ready, given, src, n)
            copy(own.out, ready, nbytes)
        else:
            ready = given
    put_signal(pe.ctx, Message(slot_at(now.inbox, step), ready, nbytes, now.succ), word(now.words, step), now.epoch)


def receive_step(pe: PE, call: Reduction, now: Share, step: int):
    """Wait for what the predecessor sent in this step; complete chunks are copied to out."""
    wait(pe.ctx, word(now.words, step), now.epoch, now.pred)
    if step >= pe.n_pes - 1:
        own = piece_at(pe, call, now, step + 1)
        copy(own.out, slot_at(now.inbox, step), own.nbytes)


def multi_ring(pe: PE, call: Reduction, work: Work):
    """out (n_elems,) = op over all PEs of src (n_elems,); out may be src.

    A block serves one ring.  Where there are fewer blocks than rings, it serves several, each in its turn in every step.

    inbox, outbox (blocks, 2 buffers), a buffer holds (turns, 2 (n_pes-1) steps, piece_elems) partials
    signals       (blocks, 2, rings, 2 (n_pes-1) steps) words, of which a block uses as many as it has turns
    peer_table    (1 + 3 rings,) words: the number of rings; of each, this PE's place, successor and predecessor
    """
    n_rings, share_elems = read_peer(work.peer_table, 0), pe.n_pes * call.piece_elems
    epoch = load_epoch(work)
    for start in range(block() * share_elems, call.n_elems, max(n_rings, blocks()) * share_elems):
        epoch += 1
        # A single block has no turn for an empty share.
        last = min(n_rings, block() + -(-(call.n_elems - start) // share_elems))
        now = Round(epoch, start, block() % n_rings)
        turns = (last - now.ring + blocks() - 1) // blocks()
        for step in range(2 * (pe.n_pes - 1)):
            for turn in range(turns):
                send_step(pe, call, share(pe, call, work, now, turn), step)
            for turn in range(turns):
                receive_step(pe, call, share(pe, call, work, now, turn), step)
    store_epoch(work, epoch)


def _peer_table(topology: Topology, me: int) -> list[int]:
    words = [rings_of(topology)]
    for ring in rings(topology):
        at = ring.index(me)
        words += [at, ring[(at + 1) % len(ring)], ring[at - 1]]
    return words


def _turns(topology: Topology, limits: Limits) -> int:
    """Rings that one block serves."""
    return 1 if limits.max_blocks >= rings_of(topology) else rings_of(topology)


def rings_plan(call: ToCut) -> Plan:
    """The same number of blocks for each ring, as many as chunks of 4 KiB can feed; a single block serves all rings."""
    n_rings, n_blocks, per_ring = rings_of(call.topology), 1, 1
    if _turns(call.topology, call.limits) == 1:
        wanted = max(1, call.n_elems * call.item_bytes // (call.shares * n_rings * 4096))
        per_ring = min(call.limits.max_blocks // n_rings, wanted)
        n_blocks = n_rings * per_ring
    return Plan(n_blocks, cut_evenly(call.n_elems, call.shares * n_rings * per_ring, call.slot_elems()))


ALGORITHM = Algorithm(
    multi_ring, rings_plan, slots=lambda topology, limits: _turns(topology, limits) * 2 * (topology.n_pes - 1),
    holds=PARTIALS, signals=lambda topology: 2 * rings_of(topology) * 2 * (topology.n_pes - 1), shares=per_pe(1),
    why_not=lambda topology, dtype, op: no_rings(topology),
    cost_us=lambda size, topology, machine: ring_us(size, topology, machine, topology.n_rails), peer_table=_peer_table,
)  # fmt: skip
