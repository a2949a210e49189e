"""Five programs with their own kernels, into which ``planted.py`` plants faults.  Each program returns its result."""

from pennympi.kernels.block import (
    Elements,
    Words,
    block,
    blocks,
    fence,
    is_leader,
    lanes,
    load,
    put,
    put_signal,
    real,
    signal,
    store,
    sync,
    wait,
)
from pennympi.kernels.records import Message

COUNT, BLOCKS, ROUNDS, ITEM_BYTES = 48, 2, 4, 4
PIECES, PIECE, SLOTS = 6, 8, 2
MOST_STEPS = 12


def pass_on(ctx, y: Elements, inbox: Elements, arrived: Words, free: Words, rounds: int, left: int, right: int):
    """y (COUNT,) goes around the ring, and each PE adds 1.  inbox (2, COUNT), arrived and free (2, BLOCKS).

    The first element of a block's part becomes the last one.
    """
    b = block()
    start, stop = b * COUNT // blocks(), (b + 1) * COUNT // blocks()
    for k in range(1, rounds + 1):
        half, word = k % 2 * COUNT, 8 * (k % 2 * BLOCKS + b)
        if k > 2:
            wait(ctx, free + word, k - 2, right)
        nbytes = (stop - start) * ITEM_BYTES
        to = inbox + (half + start) * ITEM_BYTES
        put_signal(ctx, Message(to, y + start * ITEM_BYTES, nbytes, right), arrived + word, k)
        fence(ctx)
        wait(ctx, arrived + word, k, left)
        for i in lanes(start, stop):
            store(y, i, load(inbox, half + i) + real(1))
        sync()
        if is_leader():
            store(y, start, load(y, stop - 1))
        signal(ctx, free + word, k, left)


def ring_exchange(team):
    left, right = (team.me - 1) % team.n_pes, (team.me + 1) % team.n_pes
    y, inbox = team.full(COUNT, team.me, "float32"), team.zeros((2, COUNT), "float32")
    arrived, free = team.signals(2 * BLOCKS), team.signals(2 * BLOCKS)
    team.kernel(pass_on, "float32")(BLOCKS, y, inbox, arrived, free, ROUNDS, left, right)
    for k in (ROUNDS - 1, ROUNDS):
        for b in range(BLOCKS):
            word = k % 2 * BLOCKS + b
            team.wait_signal(free[word : word + 1], k, source=right)
    team.synchronize()
    return y.tolist()


def smooth(ctx, new: Elements, old: Elements, arrived: Words, k: int, below: int, above: int):
    """A sweep of new[1..COUNT]; then the ends of new go to the neighbours' halos.  new, old (COUNT + 2,)."""
    for i in lanes(1, COUNT + 1):
        store(new, i, real(0.25) * load(old, i - 1) + real(0.5) * load(old, i) + real(0.25) * load(old, i + 1))
    sync()
    word = arrived + 16 * (k % 2)
    put_signal(ctx, Message(new + (COUNT + 1) * ITEM_BYTES, new + ITEM_BYTES, ITEM_BYTES, below), word + 8, k)
    put_signal(ctx, Message(new, new + COUNT * ITEM_BYTES, ITEM_BYTES, above), word, k)
    fence(ctx)
    wait(ctx, word, k, below)
    wait(ctx, word + 8, k, above)


def halo_exchange(team):
    below, above = (team.me - 1) % team.n_pes, (team.me + 1) % team.n_pes
    fields = [team.zeros(COUNT + 2, "float32") for _ in range(2)]
    arrived = team.signals(4)
    for field in fields:
        field[:] = team.me
        field[0], field[COUNT + 1] = below, above
    team.barrier()
    kernel = team.kernel(smooth, "float32")
    for k in range(1, ROUNDS + 1):
        kernel(1, fields[k % 2], fields[(k + 1) % 2], arrived, k, below, above)
    team.synchronize()
    return fields[ROUNDS % 2][1 : COUNT + 1].tolist()


def sum_at_once(ctx, y: Elements, x: Elements, inbox: Elements, arrived: Words, k: int, me: int, n_pes: int):
    """y = the sum of all PEs' x (COUNT,).  inbox (2, n_pes, COUNT), arrived (2, n_pes)."""
    half, word = k % 2 * n_pes, arrived + 8 * (k % 2 * n_pes)
    for step in range(1, n_pes):
        pe = (me + step) % n_pes
        to = inbox + (half + me) * COUNT * ITEM_BYTES
        put_signal(ctx, Message(to, x, COUNT * ITEM_BYTES, pe), word + 8 * me, k)
    fence(ctx)
    for i in lanes(0, COUNT):
        store(y, i, load(x, i))
    for pe in range(n_pes):
        if pe != me:
            wait(ctx, word + 8 * pe, k, pe)
            for i in lanes(0, COUNT):
                store(y, i, load(y, i) + load(inbox, (half + pe) * COUNT + i))
    sync()


def one_shot_sum(team):
    n = team.n_pes
    x, y = team.full(COUNT, team.me + 1, "float32"), team.zeros(COUNT, "float32")
    inbox, arrived = team.zeros((2, n, COUNT), "float32"), team.signals(2 * n)
    kernel, found = team.kernel(sum_at_once, "float32"), []
    for k in range(1, ROUNDS + 1):
        kernel(1, y, x, inbox, arrived, k, team.me, n)
        team.synchronize()
        found.append(float(y[0]))
        x[:] = x + 1
    return found, y.tolist()


def relay(ctx, x: Elements, room: Elements, full: Words, empty: Words, me: int, n_pes: int):
    """x (PIECES, PIECE) of PE 0 goes to the last PE, piece by piece, through room (SLOTS, PIECE) of each PE.

    The first element of a piece becomes the last one.
    """
    nbytes = PIECE * ITEM_BYTES
    for k in range(PIECES):
        slot, lap = k % SLOTS, k // SLOTS + 1
        if me > 0:
            wait(ctx, full + 8 * slot, lap, me - 1)
            for i in lanes(0, PIECE):
                store(x, k * PIECE + i, load(room, slot * PIECE + i) + real(1))
            sync()
            if is_leader():
                store(x, k * PIECE, load(x, k * PIECE + PIECE - 1))
            signal(ctx, empty + 8 * slot, lap, me - 1)
        if me < n_pes - 1:
            if lap > 1:
                wait(ctx, empty + 8 * slot, lap - 1, me + 1)
            put(ctx, room + slot * nbytes, x + k * nbytes, nbytes, me + 1)
            fence(ctx)
            signal(ctx, full + 8 * slot, lap, me + 1)


def pipeline_of_pieces(team):
    x, room = team.zeros(PIECES * PIECE, "float32"), team.zeros((SLOTS, PIECE), "float32")
    full, empty = team.signals(SLOTS), team.signals(SLOTS)
    if team.me == 0:
        x[:] = range(PIECES * PIECE)
    team.barrier()
    team.kernel(relay, "float32")(1, x, room, full, empty, team.me, team.n_pes)
    if team.me < team.n_pes - 1:
        for slot in range(SLOTS):
            team.wait_signal(empty[slot : slot + 1], PIECES // SLOTS, source=team.me + 1)
    team.synchronize()
    return x.tolist()


def halve(ctx, x: Elements, sums: Elements, half: int, me: int):
    """x (COUNT,) is halved; sums[half + me] is its sum."""
    for i in lanes(0, COUNT):
        store(x, i, load(x, i) * real(0.5))
    sync()
    if is_leader():
        total = real(0)
        for i in range(COUNT):
            total = total + load(x, i)
        store(sums, half + me, total)
    sync()


def decide(ctx, sums: Elements, half: int, total: Elements, arrived: Words, k: int, me: int, n_pes: int):
    """total[0] = the sum of sums[half:] over all PEs.  sums (2, 8), arrived (2, 8)."""
    word = arrived + 64 * (k % 2)
    for step in range(1, n_pes):
        pe, at = (me + step) % n_pes, sums + (half + me) * ITEM_BYTES
        put_signal(ctx, Message(at, at, ITEM_BYTES, pe), word + 8 * me, k)
    fence(ctx)
    for pe in range(n_pes):
        if pe != me:
            wait(ctx, word + 8 * pe, k, pe)
    if is_leader():
        added = real(0)
        for pe in range(n_pes):
            added = added + load(sums, half + pe)
        store(total, 0, added)
    sync()


def loop_with_a_stop(team):
    x, sums, total = team.full(COUNT, team.me + 1, "float32"), team.zeros((2, 8), "float32"), team.zeros(1, "float32")
    arrived, compute, push = team.signals(16), team.stream(), team.stream(priority="high")
    first, second = team.kernel(halve, "float32"), team.kernel(decide, "float32")
    team.synchronize()
    for k in range(1, MOST_STEPS + 1):
        half = k % 2 * 8
        first(1, x, sums, half, team.me, stream=compute)
        push.wait_event(compute.record())
        second(1, sums, half, total, arrived, k, team.me, team.n_pes, stream=push)
        team.synchronize(push)
        if total[0] < 40:
            break
        compute.wait_event(push.record())
    team.synchronize()
    return k, x.tolist()


PROGRAMS = ring_exchange, halo_exchange, one_shot_sum, pipeline_of_pieces, loop_with_a_stop
