"""What a GPU's waits and sends do when a wait gives up: their bodies run as plain Python, as one thread of a PE."""

from functools import partial
from types import FunctionType, SimpleNamespace

import pytest

pytest.importorskip("numba_cuda", reason="numba-cuda is not installed")

from pennympi.compile import context as ctx_words
from pennympi.cuda.device import multicast, packets, pointers, primitives, remote, waits
from pennympi.errors import CollectiveMismatchError, CountError, Record, recorded_failure
from pennympi.job.liveness import NEVER_NS
from pennympi.kernels.block import DIFFERS, EPOCH_BITS, POISON, SENDS, TAKES
from pennympi.kernels.records import PE, Message, Packets, Slots

HERE, RECORD, ABORT, ALIVE, WORD, SLOTS, OWN, FAR = 0, 1000, 1100, 1200, 2000, 3000, 4000, 5000
SHARED, OTHER_TEAM = 1300, 1400
TIMEOUT_NS = 100  # each look at the clock takes 1 ns


class Thread:
    """Memory of 8-byte words by address, a clock, and bodies bound to them; ``events[n]()`` runs at poll n."""

    def __init__(self, **events):
        self.memory, self.clock, self.events = {}, 0, {int(key[1:]): event for key, event in events.items()}
        words = ctx_words.ABORT, ctx_words.RECORD, ctx_words.ALIVE, ctx_words.TIMEOUT_NS, ctx_words.SHARED
        for word, value in zip(words, (ABORT, RECORD, ALIVE, TIMEOUT_NS, SHARED), strict=True):
            self.memory[HERE + 8 * word] = value
        self.memory |= {SHARED + 8: 2, SHARED + 16: HERE, SHARED + 24: OTHER_TEAM}
        for pe in (0, 2):
            self.memory[HERE + 8 * (ctx_words.PEER_OFFSETS + pe)] = FAR * pe
            self.memory[ALIVE + 8 + 8 * pe] = NEVER_NS
        load, store = self.load, self.store
        of_all_lanes = {"all_sync": lambda mask, x: x, "any_sync": lambda mask, x: x, "syncwarp": lambda mask: None}
        cuda = SimpleNamespace(
            threadIdx=SimpleNamespace(x=0), blockDim=SimpleNamespace(x=1), syncthreads=lambda: None,
            syncthreads_or=bool, **of_all_lanes,
        )  # fmt: skip
        self.scope = {
            "cuda": cuda, "load_word": load, "load_volatile": load, "load_acquire": load, "store_word": store,
            "store_release": store, "fence_system": lambda: None, "fence_alias": lambda: None, "CALL": 7, "TAGGED": True,
            "global_timer_ns": self.clock_ns, "claim": self.claim, "copy": lambda dst, src, n: store(dst, load(src)),
            "poll_pair": lambda address: (load(address), load(address + 8)), "load_least": load, "SPINS": 2,
            "send_pair": lambda address, x, y: (store(address, x), store(address + 8, y)),
            "pair_of": lambda pairs, pe: pairs[pe] if pe >= 0 else (0, 0),
            "poll_all": lambda address, stride, me: [
                (load(address + pe * stride), load(address + pe * stride + 8)) for pe in range(3)
            ],
            "missing": lambda pairs, epoch, me: next((k for k in (0, 2) if pairs[k][1] != epoch), -1),
        }  # fmt: skip
        self.calls = []  # calls of NVSHMEM
        for call in ("put", "get", "put_signal", "signal", "quiet"):
            self.scope[f"nvshmem_{call}"] = lambda *args, call=call: self.calls.append((call, *args))

    def load(self, address):
        return self.memory.get(address, 0)

    def store(self, address, value):
        self.memory[address] = (value + (1 << 63)) % (1 << 64) - (1 << 63)

    def clock_ns(self):
        self.clock += 1
        assert self.clock < 10 * TIMEOUT_NS, "waits for ever"
        self.events.get(self.clock, lambda: None)()
        return self.clock

    def claim(self, address):
        free = not self.load(address)
        self.memory[address] = 1
        return free

    def __getattr__(self, name):
        """The body of that name, bound to this thread, as are all functions that it calls."""
        for module in (primitives, waits, pointers, packets, multicast):
            if isinstance(module.__dict__.get(name), FunctionType):
                return self.bound(module.__dict__[name])
        raise AttributeError(name)

    def bound(self, function):
        scope = dict(function.__globals__)
        for name, value in function.__globals__.items():
            if isinstance(value, FunctionType) and value.__module__.startswith("pennympi.cuda"):
                scope[name] = lambda *args, value=value: self.bound(value)(*args)
        return FunctionType(function.__code__, scope | self.scope, function.__name__, function.__defaults__)

    @property
    def gave_up(self):
        return self.load(HERE + 8 * ctx_words.GAVE_UP)

    def record(self):
        return [self.load(RECORD + 8 * k) for k in range(ctx_words.RECORD_FOUND + 1)]


WAITS = {  # each waits for an epoch of PE 2, which comes in that word
    "poll": (lambda thread, epoch=9: thread.poll(HERE, WORD, epoch, 2), WORD),
    "take": (lambda thread, epoch=9: thread.take(HERE, WORD, 7, epoch, 2), WORD + 7 * 16 + 8),
    "take_all": (
        lambda thread, epoch=9: thread.take_all(PE(HERE, 1, 3), Packets(Slots(SLOTS, 256), epoch), 7),
        SLOTS + 2 * 256 + 7 * 16 + 8,
    ),
}
WANTED = 9 | 3 << EPOCH_BITS  # round 9 of a call with tag 3
each_wait = pytest.mark.parametrize(("wait", "word"), WAITS.values(), ids=WAITS)


def waiting(**events):
    thread = Thread(**events)
    thread.store(SLOTS + 7 * 16 + 8, 9)  # the packets of PE 0 have come
    return thread


@each_wait
def test_data_that_comes_late_is_taken(wait, word):
    thread = waiting(_3=lambda: thread.store(word, 9))
    wait(thread)
    assert not thread.gave_up and thread.record() == [0] * 5


@each_wait
def test_a_deadline_poisons_what_is_sent_later(wait, word):
    thread = waiting()
    wait(thread)
    assert thread.gave_up == POISON and thread.record() == [1, 2, 7, 9, 0] and thread.load(ABORT) == 1
    assert thread.load(OTHER_TEAM + 8 * ctx_words.GAVE_UP) == POISON, "kernels of another team are queued after this one"
    thread.poll(HERE, WORD + 800, 5, 0)  # the next wait ends at its first look, and the record stays
    assert thread.clock < TIMEOUT_NS + 10 and thread.record() == [1, 2, 7, 9, 0]


@each_wait
def test_poison_is_never_taken_for_data(wait, word):
    thread = waiting(_3=lambda: thread.store(word, POISON | 9))
    wait(thread)
    assert thread.gave_up == POISON and thread.record() == [1, 2, 7, 9, POISON | 9] and thread.clock < 10


@each_wait
def test_a_deadline_begins_anew_with_a_sign_of_life(wait, word):
    """PE 2's last sign of life comes after 250 ns; the monitor polls every 20 ns."""
    beats = {f"_{ns}": lambda ns=ns: thread.store(ALIVE + 8 + 8 * 2, max(0, ns - 250)) for ns in range(20, 500, 20)}
    thread = waiting(**beats)
    thread.store(ALIVE + 8 + 8 * 2, 0)
    wait(thread)
    assert thread.gave_up == POISON and 250 + TIMEOUT_NS <= thread.clock < 280 + TIMEOUT_NS
    assert thread.load(ALIVE) == 2 + 2, "the monitor does not see for whom this PE waits"


@pytest.mark.parametrize(("pe", "deadlines"), [(2, 1), (0, 2)])
def test_a_line_of_this_pe_is_waited_for_longer(pe, deadlines):
    """The sender gives up before, and its answer names the PE for which it waits."""
    thread, since = Thread(), 0
    while since >= 0:
        since = thread.missing_line(HERE, 8, 9, pe, since)
    assert thread.record() == [1, pe, 7, 9, 8]
    assert deadlines * TIMEOUT_NS < thread.clock < deadlines * TIMEOUT_NS + 10


def test_what_is_sent_after_a_failure():
    """Signals and packets are poison; each put goes to the PE's own memory."""
    for gave_up in (0, POISON):
        thread = Thread()
        thread.store(HERE + 8 * ctx_words.GAVE_UP, gave_up)
        thread.store(OWN, 33)
        thread.put(HERE, WORD, OWN, 8, 2)
        thread.put_signal(HERE, Message(WORD + 8, OWN, 8, 2), WORD + 16, 5)
        thread.signal(HERE, WORD + 24, 6, 2)
        thread.signal_all(HERE, WORD + 32, 7, 1, 3)
        thread.send_part(WORD, 7, (1, 2), thread.poisoned(HERE, 8))
        words = FAR * 2 + WORD
        assert [thread.load(words), thread.load(words + 8)] == ([0, 0] if gave_up else [33, 33])
        assert thread.load(OWN) == 33
        assert [thread.load(words + 16), thread.load(words + 24), thread.load(words + 40)] == [
            value | gave_up for value in (5, 6, 7)
        ]
        assert thread.load(WORD + 7 * 16 + 8) == 8 | gave_up


def far(gave_up=0):
    """PE 0 of three: a pointer reaches PE 1 only; NVSHMEM knows PE 2 by the number 5."""
    thread = Thread()
    thread.store(HERE + 8 * ctx_words.GAVE_UP, gave_up)
    thread.store(HERE + 8 * ctx_words.N_PES, 3)
    thread.store(HERE + 8 * (ctx_words.PEER_OFFSETS + 1), FAR)
    thread.store(HERE + 8 * (ctx_words.PEER_OFFSETS + 2), ctx_words.UNREACHABLE)
    thread.store(HERE + 8 * (ctx_words.PEER_OFFSETS + 3 + 2), 5)
    return thread


@pytest.mark.parametrize("gave_up", [0, POISON])
def test_what_nvshmem_carries(gave_up):
    """The calls name a PE by NVSHMEM's number; after a failure they send no data, and their signals are poison."""
    thread = far(gave_up)
    thread.bound(remote.put)(HERE, WORD, OWN, 8, 2)
    thread.bound(remote.put_signal)(HERE, Message(WORD, OWN, 8, 2), WORD + 16, 9)
    thread.bound(remote.signal)(HERE, WORD + 16, 6, 2)
    thread.bound(remote.signal_all)(HERE, WORD + 32, 7, 0, 3)
    signals = [("signal", WORD + 16, 6 | gave_up, 5), ("signal", WORD + 32, 7 | gave_up, 5)]
    both = [("put", WORD, OWN, 8, 5), ("put_signal", WORD, OWN, 8, WORD + 16, 9, 5)]
    assert thread.calls == ([("signal", WORD + 16, 9 | POISON, 5)] if gave_up else both) + signals
    assert thread.load(FAR + WORD + 32) == 7 | gave_up, "a PE in reach is stored to"
    thread.bound(remote.get)(HERE, WORD, OWN, 8, 2)
    assert thread.calls[-1] == ("get", WORD, OWN, 8, 5)


def test_what_a_user_gave_is_copied_for_a_pe_beyond_reach():
    thread, room = far(), WORD + 64
    thread.store(OWN, 33)
    assert thread.bound(remote.stage_for_put)(HERE, room, OWN, 8, 1) == OWN and not thread.load(room)
    assert thread.bound(remote.stage_for_put)(HERE, room, OWN, 8, 2) == room and thread.load(room) == 33


def test_a_wait_that_gives_up_completes_what_was_sent():
    thread = far()
    thread.store(WORD, WANTED)
    thread.bound(remote.wait)(HERE, WORD, WANTED, 2)
    assert not thread.calls
    thread.bound(remote.wait)(HERE, WORD, WANTED + 1, 2)
    assert thread.gave_up and thread.calls == [("quiet",)]


def tagged(epoch, tag):
    return epoch | tag << EPOCH_BITS


@each_wait
@pytest.mark.parametrize("tag", [1, 5, 0xFFFF])
def test_another_call_is_never_taken_for_this_one(wait, word, tag):
    """A smaller tag is refused, a larger one too; the record holds both tags."""
    thread = Thread(_3=lambda: thread.store(word, tagged(9, tag)))
    thread.store(SLOTS + 7 * 16 + 8, WANTED)
    wait(thread, WANTED)
    assert thread.gave_up == POISON and thread.record() == [1, 2, 7, WANTED, tagged(9, tag)] and thread.clock < 10
    record = Record(1, 2, "a kernel", WANTED, tagged(9, tag), True)
    failure = recorded_failure(record, 1.0, lambda pe, number: f"call {number}")
    assert isinstance(failure, CollectiveMismatchError)
    assert str(failure).startswith(f"PE 1 is in call 3; PE 2 sent for call {tag}")


@pytest.mark.parametrize("tag", [1, 3, 0xFFFF])
def test_a_signal_that_is_ahead_is_right_whatever_its_call(tag):
    """A PE that goes on to its next call overwrites a word that was not seen: that the PE went on proves this thread."""
    thread = Thread(_3=lambda: thread.store(WORD, tagged(10, tag)))
    thread.store(WORD, tagged(8, tag))
    thread.poll(HERE, WORD, WANTED, 2)
    assert thread.clock == 3 and not thread.gave_up


def test_poison_ends_a_wait_whatever_its_round():
    for round_ in (7, 9, 10):
        thread = Thread()
        thread.events[3] = partial(thread.store, WORD, POISON | tagged(round_, 5))
        thread.poll(HERE, WORD, WANTED, 2)
        assert thread.gave_up == POISON and thread.clock < 10


def test_other_kernels_compare_whole_words():
    """A user's signal may have any value below POISON."""
    thread = Thread(_3=lambda: thread.store(WORD, 1 << 61), _6=lambda: thread.store(WORD, (1 << 61) + 8))
    thread.scope["TAGGED"] = False
    thread.poll(HERE, WORD, (1 << 61) + 5, 2)
    assert thread.clock == 6 and not thread.gave_up


def test_the_switch_shows_the_least_and_so_poison():
    least = -(1 << 63) | 9 << 16
    thread = Thread(_3=lambda: thread.store(WORD, least))  # the minimum of all words; without deltas it is every PE's
    thread.poll_least(HERE, WORD, thread.comparable(9), 3)
    assert thread.gave_up == POISON and thread.record() == [1, 0, 7, 9, POISON]
    thread.meet_multicast(HERE, WORD + 8, 9, 3)
    assert thread.load(WORD + 8) == least


def test_the_switch_shows_the_least_round():
    """The tag is below the round's number: the minimum shows a smaller tag, and the PE itself sees a larger thread."""
    thread = Thread()
    assert thread.comparable(tagged(9, 5)) < thread.comparable(tagged(9, 6)) < thread.comparable(tagged(10, 1)) < 1 << 62
    assert thread.epoch_of(thread.comparable(tagged(9, 0xFFFF))) == tagged(9, 0xFFFF)
    thread.store(WORD, thread.comparable(tagged(9, 2)))
    thread.poll_least(HERE, WORD, thread.comparable(WANTED), 3)
    assert thread.record() == [1, 0, 7, WANTED, tagged(9, 2)]


@pytest.mark.parametrize(
    ("why", "error", "text"),
    [
        (SENDS, CountError, "part 2 of x of PE 1 has -1 elements from element 10 on, by the counts and displacements "),
        (TAKES, CountError, "part 2 of out of PE 1 has -1 elements from element 10 on, by the counts and displacements "),
        (DIFFERS, CollectiveMismatchError, "PE 2 sends -1 elements to PE 1, but PE 1 expects 10: "),
    ],
)
def test_a_count_that_is_refused_is_told(why, error, text):
    """Only the first refusal is recorded; a count of -1 is not taken for an interrupt."""
    thread = Thread()
    thread.refuse_count(HERE, why, -1, 10, 2)
    thread.refuse_count(HERE, why, 3, 4, 0)
    assert thread.gave_up == POISON and thread.record() == [1, 2, 7 + why * ctx_words.REFUSED, 10, -1]
    flags, number = divmod(thread.record()[2], ctx_words.TAGGED)
    failure = recorded_failure(Record(1, 2, "a kernel", 10, -1, bool(flags & 1), flags >> 1), 1.0, lambda pe, number: "")
    assert number == 7 and type(failure) is error and f"in a kernel {text}" in str(failure)
