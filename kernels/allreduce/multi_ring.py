"""Multi-ring AllReduce: one ring a rail, each carries its share of the vector.

Source: the Penny worklog, part 1 ("as many rings as NICs", alternating by node,
every other ring reversed).  One ring alone goes through one NIC a node, in and
out; here every NIC sends one ring's messages and receives one ring's.
``../rings.py`` says which PE follows which.

Each ring is ``ring.py``'s: each PE sends 2 (n-1)/n of the vector in all, 1/rails
of that to other nodes at most.  n PEs on N nodes, R rings, b bytes:

    T = 2 (n-1-N) alpha_node + 2 N alpha_net
        + 2 (n-1)/n b max(beta_node, beta_net / R) + (n-1)/n b gamma

(a chunk goes round twice, n-1 hops each time, N of them or one less between nodes; beta_node
is of all links of a PE together).  On one node the rings are as many as use every link, and
T = 2 (n-1) alpha_node + 2 (n-1)/n b beta_node + (n-1)/n b gamma.

Every PE gets the same bits: a chunk is reduced along its ring by one PE after the
other and rounded once, by the last; all others copy what that one sent.
"""

from ..algorithm import PARTIALS, Algorithm, Limits, Place, Plan, cut_evenly
from ..block import block, blocks, copy, finish, put_signal, read_epoch, read_route, reduce, wait, widen, write_epoch
from ..rings import n_rings as rings_of
from ..rings import no_rings, rings


def multi_ring(
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

    A block serves one ring, or, where blocks are fewer than rings, several step by step ("turns").

    inbox, outbox (blocks, 2 parities, buffer_bytes), a half holds (turns, 2 (n_pes-1) steps, piece_elems) partials
    signals       (blocks, 2 parities, rings, 2 (n_pes-1) steps) words, of which a block uses as many as it has turns
    ways          (1 + 3 rings,) words: the number of rings; of each, this PE's place on it, its successor and predecessor
    """
    n_rings = read_route(routes, 0)
    steps = 2 * (n_pes - 1)
    slot_bytes = piece_elems * acc_bytes
    slab_elems = n_pes * piece_elems  # of one ring in one round
    stride = max(n_rings, blocks()) * slab_elems
    epoch = read_epoch(epochs, block())
    for start in range(block() * slab_elems, count, stride):
        epoch += 1
        last = min(n_rings, block() + -(-(count - start) // slab_elems))  # a single block has no turn for an empty share
        # A PE that finished round e+1 on any ring proves that all PEs finished round e: two parities are enough, of
        # slots and words.  A word has one writer.
        parity = block() * 2 + (epoch & 1)
        half = parity * buffer_bytes  # byte offset of (turns, steps, piece_elems) partials
        arrived = signals + parity * n_rings * steps * 8  # (turns, steps) words

        # n-1 steps pass on the partial of a chunk, and add to it; one completes it; n-2 more pass on the complete ones
        for step in range(steps):
            turn = 0
            for ring in range(block() % n_rings, last, blocks()):
                chunk = (read_route(routes, 1 + 3 * ring) + 2 * n_pes - step) % n_pes
                low = start + turn * blocks() * slab_elems + chunk * piece_elems
                n = max(0, min(piece_elems, count - low))
                own = src + low * item_bytes
                slot = half + (turn * steps + step) * slot_bytes
                before, ready, nbytes = inbox + slot - slot_bytes, outbox + slot, n * acc_bytes
                if step == 0:
                    widen(ctx, ready, own, n)
                elif step < n_pes - 1:
                    reduce(ctx, ready, before, own, n)
                else:
                    nbytes = n * item_bytes
                    if step == n_pes - 1:
                        finish(ctx, ready, before, own, n)
                        copy(out + low * item_bytes, ready, nbytes)
                    else:
                        ready = before
                word, to = arrived + (turn * steps + step) * 8, read_route(routes, 2 + 3 * ring)
                put_signal(ctx, inbox + slot, ready, nbytes, word, epoch, to)
                turn += 1
            turn = 0
            for ring in range(block() % n_rings, last, blocks()):
                wait(ctx, arrived + (turn * steps + step) * 8, epoch, read_route(routes, 3 + 3 * ring))
                if step >= n_pes - 1:
                    chunk = (read_route(routes, 1 + 3 * ring) + 2 * n_pes - step - 1) % n_pes
                    low = start + turn * blocks() * slab_elems + chunk * piece_elems
                    n = max(0, min(piece_elems, count - low))
                    copy(out + low * item_bytes, inbox + half + (turn * steps + step) * slot_bytes, n * item_bytes)
                turn += 1
    write_epoch(epochs, block(), epoch)


def _signals(place: Place) -> int:
    return 2 * rings_of(place) * 2 * (place.n_pes - 1)


def _ways(place: Place, me: int) -> list[int]:
    words = [rings_of(place)]
    for ring in rings(place):
        at = ring.index(me)
        words += [at, ring[(at + 1) % len(ring)], ring[at - 1]]
    return words


def _turns(place: Place, limits: Limits) -> int:
    """Rings that one block serves."""
    return 1 if limits.max_blocks >= rings_of(place) else rings_of(place)


def plan(count: int, item_bytes: int, acc_bytes: int, place: Place, limits: Limits) -> Plan:
    """The same number of blocks for each ring, as many as chunks of 4 KiB can feed; a single block serves all rings."""
    n_rings, steps = rings_of(place), 2 * (place.n_pes - 1)
    n_blocks, turns = 1, _turns(place, limits)
    if turns == 1:
        wanted = max(1, count * item_bytes // (place.n_pes * n_rings * 4096))
        n_blocks = n_rings * min(limits.max_blocks // n_rings, wanted)
    largest = limits.buffer_bytes // (turns * steps * acc_bytes)
    return Plan(n_blocks, cut_evenly(count, place.n_pes * max(n_blocks, n_rings), largest))


ALGORITHM = Algorithm(
    name="multi_ring",
    sentence="one ring a rail, turning by node so that none changes rails; on one node as many as use every link",
    needs="the same rails on every node",
    kernel=multi_ring,
    plan=plan,
    signals=_signals,
    slots=lambda place, limits: _turns(place, limits) * 2 * (place.n_pes - 1),
    holds=PARTIALS,
    refuse=lambda place, dtype, op: no_rings(place),
    routes=_ways,
)
