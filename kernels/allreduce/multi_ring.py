"""Multi-ring AllReduce: one ring for each rail, which carries its share of the vector.

Source: the Penny worklog, part 1 ("as many rings as NICs", alternating by node, every other ring reversed).  Every NIC
sends for one ring and receives for one ring; ``../rings.py`` says which PE follows which.  Each ring works as in
``ring.py``.  On one node the rings use every link.  All PEs have the same bits, as in ``ring``.
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


class RingRound(NamedTuple):
    """A round of a block.  Its first share begins at element ``start`` and belongs to ring number ``ring``."""

    epoch: int
    start: int
    ring: int


class Share(NamedTuple):
    """One ring's share of a round: n_pes pieces, which begin at element ``start``.

    place, succ, pred: index of this PE on the ring, its successor and its predecessor
    inbox, outbox:     slots, (steps,);  words: address of (steps,) signals
    """

    epoch: int
    start: int
    place: int
    succ: int
    pred: int
    inbox: Slots
    outbox: Slots
    words: int


def share_of(pe: PE, call: Reduction, work: Work, ring_round: RingRound, turn: int) -> Share:
    """The share of the ring that this block serves in its ``turn``.

    When a PE has finished round e+1 on any ring, all PEs have finished round e: two buffers and sets of words suffice.
    A word has one writer.
    """
    n_rings, steps, slot_bytes = read_peer(work.peer_table, 0), 2 * (pe.n_pes - 1), call.piece_elems * call.acc_bytes
    links = word(work.peer_table, 1 + 3 * (ring_round.ring + turn * blocks()))
    first = turn * steps
    offset = buffer(work, ring_round.epoch) + first * slot_bytes
    return Share(
        ring_round.epoch, ring_round.start + turn * blocks() * pe.n_pes * call.piece_elems, read_peer(links, 0),
        read_peer(links, 1), read_peer(links, 2), Slots(work.inbox + offset, slot_bytes),
        Slots(work.outbox + offset, slot_bytes), word(words(work, ring_round.epoch, n_rings * steps), first),
    )  # fmt: skip


def piece_at(pe: PE, call: Reduction, share: Share, step: int) -> Piece:
    """The piece that this PE sends in a step."""
    return piece(call, share.start, (share.place + 2 * pe.n_pes - step) % pe.n_pes)


def send_step(pe: PE, call: Reduction, share: Share, step: int):
    """n-1 steps send partials of chunks, to which each PE adds; one step completes a chunk; n-2 send complete chunks."""
    own = piece_at(pe, call, share, step)
    src, n, nbytes = own.src, own.n_elems, own.n_elems * call.acc_bytes
    received, ready = slot_at(share.inbox, step - 1), slot_at(share.outbox, step)
    if step == 0:
        to_partials(pe.ctx, ready, src, n)
    elif step < pe.n_pes - 1:
        reduce(pe.ctx, ready, received, src, n)
    else:
        nbytes = n * call.item_bytes
        if step == pe.n_pes - 1:
            reduce_and_round(pe.ctx, ready, received, src, n)
            copy(own.out, ready, nbytes)
        else:
            ready = received
    message = Message(slot_at(share.inbox, step), ready, nbytes, share.succ)
    put_signal(pe.ctx, message, word(share.words, step), share.epoch)


def receive_step(pe: PE, call: Reduction, share: Share, step: int):
    """Wait for the predecessor's message of this step; copy a complete chunk to out."""
    wait(pe.ctx, word(share.words, step), share.epoch, share.pred)
    if step >= pe.n_pes - 1:
        own = piece_at(pe, call, share, step + 1)
        copy(own.out, slot_at(share.inbox, step), own.nbytes)


def multi_ring(pe: PE, call: Reduction, work: Work):
    """out (n_elems,) = op over all PEs of src (n_elems,); out may be src.

    A block serves one ring.  If there are fewer blocks than rings, it serves several rings by turns in every step.

    inbox, outbox (blocks, 2 buffers), a buffer holds (turns, 2 (n_pes-1) steps, piece_elems) partials
    signals       (blocks, 2, rings, 2 (n_pes-1) steps) words; in its k-th turn a block uses row k
    peer_table    (1 + 3 rings,) words: number of rings; then for each ring this PE's place, successor and predecessor
    """
    n_rings, share_elems = read_peer(work.peer_table, 0), pe.n_pes * call.piece_elems
    epoch = load_epoch(work)
    for start in range(block() * share_elems, call.n_elems, max(n_rings, blocks()) * share_elems):
        epoch += 1
        last = min(n_rings, block() + -(-(call.n_elems - start) // share_elems))
        ring_round = RingRound(epoch, start, block() % n_rings)
        turns = (last - ring_round.ring + blocks() - 1) // blocks()
        for step in range(2 * (pe.n_pes - 1)):
            for turn in range(turns):
                send_step(pe, call, share_of(pe, call, work, ring_round, turn), step)
            for turn in range(turns):
                receive_step(pe, call, share_of(pe, call, work, ring_round, turn), step)
    store_epoch(work, epoch)


def _peer_table(topology: Topology, me: int) -> list[int]:
    words = [rings_of(topology)]
    for ring in rings(topology):
        place = ring.index(me)
        words += [place, ring[(place + 1) % len(ring)], ring[place - 1]]
    return words


def _turns(topology: Topology, limits: Limits) -> int:
    """Number of rings that a block serves."""
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
