"""The waits of a CPU's kernels: for a signal, until a deadline, or until the sender has given up."""

from ...compile import context as ctx_words
from ...compile.context import BEHIND, ROUNDS
from ...errors import INTERRUPTED
from ...job.liveness import LATE_NS, LOOKED, RESUMED_NS, TICKED_NS, WAITS_FOR
from ...kernels.block import POISON
from .interrupts import handler_raises
from .intrinsics import call, load_acquire, load_word, monotonic_ns, nap, relax, sched_yield, store_release, store_word
from .numba_cpu import device_function
from .primitives import implementation

# Linux may return the core at once to a process that yields it.  So with more PEs than cores a waiting PE sleeps, which
# takes 50 us; with a core for each PE it yields.
NAPS_BETWEEN_LOOKS = 64
DEADLINE = -1  # in place of a time: the deadline has passed, or the wait ends for another reason
SPINS_BEFORE_YIELD, SPINS_BEFORE_SLEEP, SPINS_WHERE_CORES_ARE_SHARED = 64, 8192, 400


@implementation
def wait(ctx, signal, value, source):
    if load_word(ctx + 8 * ctx_words.GAVE_UP) != 0:
        return
    spins = since_ns = 0
    content = load_acquire(signal)
    while content < value:
        spins += 1
        since_ns = pause(ctx, spins, since_ns, source)
        if since_ns < 0:
            give_up(ctx, content, value, source, 0)
            return
        content = load_acquire(signal)
    if content >= POISON:
        give_up(ctx, content, value, source, 0)


@device_function
def wait_tagged(ctx, signal, value, source):
    """``wait`` for an epoch with the tag of its call: the loop compares only the numbers of rounds."""
    if load_word(ctx + 8 * ctx_words.GAVE_UP) != 0:
        return
    spins = since_ns = 0
    content = load_acquire(signal)
    while (content - value) & BEHIND != 0:
        spins += 1
        since_ns = pause(ctx, spins, since_ns, source)
        if since_ns < 0 or content >= POISON:
            give_up(ctx, content, value, source, ctx_words.TAGGED)
            return
        content = load_acquire(signal)
    if content != value and (content >= POISON or (content - value) & ROUNDS == 0):
        give_up(ctx, content, value, source, ctx_words.TAGGED)


@device_function
def pause(ctx, spins, since_ns, source):
    """Pause between two polls of a signal.  Returns the result of the last ``look``."""
    progress = load_word(ctx + 8 * ctx_words.PROGRESS)
    came = call(progress, ctx) if progress != 0 else 0
    patience = load_word(ctx + 8 * ctx_words.PATIENCE)
    if came > 0:
        pass  # a message may be the signal of this wait
    elif spins >= patience:
        nap(1)
    elif spins >= SPINS_BEFORE_YIELD:
        sched_yield()
    else:
        relax()
    if spins % (NAPS_BETWEEN_LOOKS if spins >= patience else ctx_words.SPINS_BETWEEN_LOOKS) == 0:
        return look(ctx, since_ns, source)
    return since_ns


@device_function
def look(ctx, since_ns, source):
    """Check a wait's deadline.  Returns the time from which the deadline counts, or DEADLINE if it has passed.

    The deadline passes at once if the handler of a signal of the operating system raises an exception.
    """
    now_ns = monotonic_ns()
    own_words = load_word(load_word(ctx + 8 * ctx_words.ALIVE) + 8 * load_word(ctx + 8 * ctx_words.ME))
    if own_words != 0:
        store_word(own_words + 8 * WAITS_FOR, source)
        store_word(own_words + 8 * LOOKED, now_ns)
    monitor = load_word(ctx + 8 * ctx_words.ABORT)
    if since_ns == 0:
        since_ns = now_ns
    since_ns = max(since_ns, last_alive_ns(ctx, source), load_acquire(monitor + 8 * RESUMED_NS))
    if handler_raises(load_word(ctx + 8 * ctx_words.SIGNALS), now_ns):
        give_up(ctx, 0, 0, source, INTERRUPTED * ctx_words.REFUSED)
        return DEADLINE
    limit_ns = load_word(ctx + 8 * ctx_words.TIMEOUT_NS)
    runs = now_ns - load_acquire(monitor + 8 * TICKED_NS) < LATE_NS  # False if this process has just been suspended
    return DEADLINE if runs and limit_ns > 0 and now_ns - since_ns > limit_ns else since_ns


@device_function
def last_alive_ns(ctx, source):
    """Time of the last heartbeat of PE ``source``, or 0; it becomes a heartbeat of this PE, which waits for
    ``source``."""
    word = load_word(load_word(ctx + 8 * ctx_words.ALIVE) + 8 * source) if source >= 0 else 0
    if word == 0:
        return 0
    alive_ns = load_acquire(word)
    show_alive(ctx, alive_ns)
    return alive_ns


@device_function
def show_alive(ctx, time_ns):
    """``liveness.show_alive`` in a kernel: show the PEs of the node that this PE is alive."""
    own_words = load_word(ctx + 8 * ctx_words.OWN_ALIVE)
    for k in range(load_word(own_words)):
        word = load_word(own_words + 8 + 8 * k)
        if load_word(word) < time_ns:
            store_word(word, time_ns)


@device_function
def give_up(ctx, content, value, source, flags):
    """Write the record of this PE's first wait that gives up.  Later waits return at once.  flags: see ``RECORD_CALL``"""
    if load_word(ctx + 8 * ctx_words.GAVE_UP) != 0:
        return
    record = load_word(ctx + 8 * ctx_words.RECORD)
    store_word(record + 8 * ctx_words.RECORD_SOURCE, source)
    store_word(record + 8 * ctx_words.RECORD_CALL, load_word(ctx + 8 * ctx_words.CALL) + flags)
    store_word(record + 8 * ctx_words.RECORD_EPOCH, value)
    store_word(record + 8 * ctx_words.RECORD_FOUND, content)
    store_release(record + 8 * ctx_words.RECORD_TAKEN, 1)
    store_word(ctx + 8 * ctx_words.GAVE_UP, POISON)


@implementation
def refuse_count(ctx, why, count, wanted, pe):
    give_up(ctx, count, wanted, pe, why * ctx_words.REFUSED)


@implementation
def wait_all(ctx, signals, value, me, n_pes):
    for k in range(1, n_pes):
        pe = (me + k) % n_pes
        wait(ctx, signals + 8 * pe, value, pe)


@device_function
def wait_all_tagged(ctx, signals, value, me, n_pes):
    """``wait_all`` for epochs with the tag of their call."""
    for k in range(1, n_pes):
        pe = (me + k) % n_pes
        wait_tagged(ctx, signals + 8 * pe, value, pe)


TAGGED_IMPLEMENTATIONS = {"wait": wait_tagged, "wait_all": wait_all_tagged}
