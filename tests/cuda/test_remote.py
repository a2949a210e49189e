"""Calls to a PE beyond a pointer's reach, on a CPU: the bodies run with NVSHMEM's device calls and memory replaced."""

from types import FunctionType, SimpleNamespace

import pytest

from pennympi.compile import context as ctx_words

pytest.importorskip("numba_cuda", reason="numba-cuda is not installed")
from pennympi.cuda import peers, primitives, remote

NUMBERS = (7, 2, 5)  # what NVSHMEM calls the team's PEs
REACHED, ME = 1, 0
DELTAS = {0: 0, REACHED: 4096, 2: ctx_words.UNREACHABLE}


@pytest.fixture
def called():
    """The bodies by name; ``calls`` lists what they asked for."""
    words = {8 * ctx_words.ME: ME, 8 * ctx_words.N_PES: len(NUMBERS)}
    words |= {8 * (ctx_words.DELTAS + pe): delta for pe, delta in DELTAS.items()}
    words |= {8 * (ctx_words.DELTAS + len(NUMBERS) + pe): number for pe, number in enumerate(NUMBERS)}
    calls, read = [], []
    names = [f"nvshmem_{call}" for call in ("put", "get", "put_signal", "signal", "quiet")] + ["copy", "store_release"]
    scope = vars(remote) | {name: lambda *args, name=name: calls.append((name, *args)) for name in names}
    one_thread = SimpleNamespace(threadIdx=SimpleNamespace(x=0), blockDim=SimpleNamespace(x=1))
    one_thread.syncthreads, one_thread.syncthreads_or = lambda: None, lambda any_of: any_of
    scope |= {"cuda": one_thread, "load_word": lambda address: read.append(address) or words.get(address, 0)}
    scope |= {"wait_only": lambda *args: None, "fence_system": lambda: None}
    own = {name: one for name, one in vars(remote).items() if getattr(one, "__module__", "") == remote.__name__}
    for name, one in {**own, "goal": peers.goal, "at": peers.at, "poisoned": primitives.poisoned}.items():
        if isinstance(one, FunctionType):
            scope[name] = FunctionType(one.__code__, scope)
    bodies = {name: scope[name] for name in remote.__all__ if name != "shim"}
    return SimpleNamespace(calls=calls, read=read, words=words, **bodies)


def test_nvshmem_is_told_its_own_number_of_a_pe(called):
    called.put(0, 100, 200, 16, 2)
    called.get(0, 100, 200, 16, 2)
    called.put_signal(0, 100, 200, 16, 300, 9, 2)
    called.signal(0, 300, 9, 2)
    called.signal_all(0, 800, 9, ME, len(NUMBERS))
    assert called.calls == [
        ("nvshmem_put", 100, 200, 16, 5),
        ("nvshmem_get", 100, 200, 16, 5),
        ("nvshmem_put_signal", 100, 200, 16, 300, 9, 5),
        ("nvshmem_signal", 300, 9, 5),
        ("store_release", 800 + DELTAS[REACHED], 9),
        ("nvshmem_signal", 800, 9, 5),
    ]


def test_a_pe_in_reach_is_stored_to(called):
    """All that is read is where it is (here and in ``goal``), and whether this PE has given up."""
    called.put(0, 100, 200, 16, REACHED)
    assert called.calls == [("copy", 100 + DELTAS[REACHED], 200, 16)]
    assert called.read == [8 * (ctx_words.DELTAS + REACHED), 8 * (ctx_words.DELTAS + REACHED), 8 * ctx_words.GAVE_UP]


def test_what_a_user_gave_is_copied_for_a_pe_beyond_reach(called):
    assert called.staged(0, 500, 200, 16, REACHED) == 200 and not called.calls
    assert called.staged(0, 500, 200, 16, 2) == 500
    assert called.calls == [("copy", 500, 200, 16)]


def test_a_wait_that_gives_up_completes_what_was_sent(called):
    called.wait(0, 300, 9, 2)
    assert not called.calls
    called.words[8 * ctx_words.GAVE_UP] = 1
    called.wait(0, 300, 9, 2)
    assert called.calls == [("nvshmem_quiet",)]
