"""The waits of a GPU's kernels: for a signal, until a deadline, or until the sender has given up."""

from ...compile import context as ctx_words
from ...kernels.block import POISON
from ..compiler.gpu import cuda
from .intrinsics import claim, fence_system, global_timer_ns, load_acquire, load_volatile, load_word, store_word
from .primitives import WORD
from .stubs import CALL, TAGGED

# Byte offsets of the words of ``ctx`` and of the record.  They are globals, which the compiler treats as constants.
ME, ABORT, RECORD, TIMEOUT_NS = (
    WORD * word for word in (ctx_words.ME, ctx_words.ABORT, ctx_words.RECORD, ctx_words.TIMEOUT_NS)
)
SHARED, GAVE_UP, ALIVE = (WORD * word for word in (ctx_words.SHARED, ctx_words.GAVE_UP, ctx_words.ALIVE))
RECORD_TAKEN, RECORD_SOURCE, RECORD_CALL, RECORD_EPOCH, RECORD_FOUND, RECORD_ME = (
    WORD * word for word in range(ctx_words.RECORD_ME + 1)
)
SPINS, BEHIND, REFUSED = ctx_words.SPINS_BETWEEN_LOOKS, ctx_words.BEHIND, ctx_words.REFUSED


def wait(ctx, signal, value, source):
    if cuda.threadIdx.x == 0:
        poll(ctx, signal, value, source)
    cuda.syncthreads()


def wait_all(ctx, signals, value, me, n_pes):
    pe = cuda.threadIdx.x
    while pe < n_pes:
        if pe != me:
            poll(ctx, signals + 8 * pe, value, pe)
        pe += cuda.blockDim.x
    cuda.syncthreads()


def poll(ctx, signal, value, source):
    """Wait, as one thread, for data, poison, the epoch of another call, a deadline or the abort word."""
    spins = 0
    since_ns = 0
    failed = False
    content = load_acquire(signal)
    while is_earlier(content, value) and not failed:
        spins += 1
        if spins % SPINS == 0:
            since_ns, failed = check_wait(ctx, source, since_ns)
            report_wait(ctx, source)
            failed = failed | (content >= POISON)
        content = load_acquire(signal)
    if content != value and is_earlier(content, value + 1) | (content >= POISON):  # the right round of another call
        give_up(ctx, content, value, source)


def is_earlier(content, value):
    """Whether a word is less than ``value``; if epochs have tags, whether its round is an earlier round."""
    return (content - value) & BEHIND != 0 if TAGGED else content < value


def check_wait(ctx, source, since_ns):
    """Check the clock and the abort word for a waiting thread.  Returns (time when the wait began, True if it has
    failed).

    A wait fails if it has lasted longer than the deadline, and the last heartbeat of PE ``source`` is older than that.
    """
    now_ns = global_timer_ns()
    if since_ns == 0:
        since_ns = now_ns
    failed = load_volatile(load_word(ctx + ABORT)) != 0
    limit_ns = load_word(ctx + TIMEOUT_NS)
    if limit_ns > 0 and now_ns - since_ns > limit_ns:
        unknown = not TAGGED and source < 0  # see report_wait
        failed = failed or unknown or load_volatile(load_word(ctx + ALIVE) + WORD + WORD * source) > limit_ns
    return since_ns, failed


def report_wait(ctx, source):
    """Tell the monitor which PE this thread waits for; if epochs have no tags, the PE may be unknown (-1)."""
    waits_for = load_word(ctx + ALIVE)
    if TAGGED or source >= 0 or load_volatile(waits_for) == 0:
        store_word(waits_for, source + 2)


def missing_line(ctx, content, number, pe, since_ns):
    """Check a thread's wait for a line of exchange ``number`` from PE ``pe``.  content: epoch that the line has now

    since_ns: result of the previous check of this wait, 0 at first
    Returns the time when the wait began, or -1 if it has failed; the record is that of a failed ``wait``.
    A block of this PE that should send the line may itself wait for another PE.  So a wait for a line of this PE lasts
    one deadline longer: the first record then names the other PE.
    """
    begins = since_ns == 0
    since_ns, failed = check_wait(ctx, pe, since_ns)
    if begins and pe == load_word(ctx + ME):
        since_ns += load_word(ctx + TIMEOUT_NS)
    report_wait(ctx, pe)
    poison = content >> 31  # 1: the sender has given up
    if not failed and poison == 0:
        return since_ns
    give_up(ctx, content + poison * POISON, number, pe)
    return -1


def refuse_count(ctx, why, count, wanted, pe):
    if cuda.threadIdx.x == 0:  # without a barrier: after a wait that gave up, threads may read different counts
        give_up(ctx, count, wanted, pe, why)


def give_up(ctx, content, value, source, why=0):
    """Poison everything that this PE sends from now on, in all its teams.  The first thread to give up also writes the
    record and sets the abort word."""
    store_word(ctx + GAVE_UP, POISON)
    shared = load_word(ctx + SHARED)
    for team in range(load_word(shared + WORD)):
        store_word(load_word(shared + 2 * WORD + WORD * team) + GAVE_UP, POISON)
    if claim(shared):
        record = load_word(ctx + RECORD)
        store_word(record + RECORD_ME, load_word(ctx + ME))
        store_word(record + RECORD_SOURCE, source)
        store_word(record + RECORD_CALL, CALL + why * REFUSED)
        store_word(record + RECORD_EPOCH, value)
        store_word(record + RECORD_FOUND, content)
        fence_system()
        store_word(record + RECORD_TAKEN, 1)
        fence_system()
        store_word(load_word(ctx + ABORT), 1)


def poisoned(ctx, value):
    """The value that this PE sends: ``value``, with the poison bit if a wait of this PE has given up."""
    return value | load_word(ctx + GAVE_UP)
