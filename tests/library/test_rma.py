"""put, get, put_signal, wait_signal, quiet, barrier, peer views and registered arrays."""

import time

import numpy as np
import pytest
from on_device import device, reaches, same, to_numpy, write
from refused import refused

from pennympi.job.beats import BEAT_S
from pennympi.job.rendezvous import N_TAGS

pytestmark = [pytest.mark.mpi, pytest.mark.hosts(most_pes=8)]
SIZES = (0, 1, 3, 15, 16, 17, 255, 4097, 65_536, 262_144, 262_145, 1 << 20)  # bytes; also around the copy engine's limit
GUARD = 32


def pattern(pe, nbytes, salt=0):
    return ((np.arange(nbytes) * 7 + pe * 31 + salt) % 251).astype(np.uint8)


@pytest.fixture(scope="module")
def memory(team):
    """(symmetric, plain) bytes, both with room around the largest message."""
    symmetric = team.empty(max(SIZES) + 2 * GUARD, "uint8")
    yield symmetric, device(team, np.zeros(max(SIZES) + 2 * GUARD, np.uint8))


@pytest.mark.parametrize("dst_at,src_at", [(0, 0), (1, 0), (0, 1), (3, 3), (4, 8)])
@pytest.mark.parametrize("what", ["put", "get", "put_signal"])
def test_round_the_ring(team, memory, what, dst_at, src_at):
    symmetric, plain = memory
    right, left = (team.me + 1) % team.n_pes, (team.me - 1) % team.n_pes
    signal = team.signals(2)
    sizes = SIZES if team.n_pes <= 4 else SIZES[(dst_at + src_at) % 2 :: 2]  # with many PEs every second size, in turn
    for k, nbytes in enumerate(sizes):
        near, far = (symmetric, plain) if what != "get" else (plain, symmetric)
        dst = near[GUARD + dst_at : GUARD + dst_at + nbytes]
        src = far[GUARD + src_at : GUARD + src_at + nbytes]
        write(near[: nbytes + 2 * GUARD], np.full(nbytes + 2 * GUARD, 0xEE))
        write(src, pattern(team.me, nbytes, k))
        team.barrier()
        if what == "put":
            team.put(dst, src, right)
            team.quiet()
            team.barrier()
        elif what == "get":
            team.get(dst, src, left)
            team.barrier()
        else:
            team.put_signal(dst, src, signal[1:2], k + 1, right)
            team.wait_signal(signal[1:2], k + 1, source=left)
        expected = np.full(nbytes + 2 * GUARD, 0xEE, np.uint8)
        expected[GUARD + dst_at : GUARD + dst_at + nbytes] = pattern(left, nbytes, k)
        assert same(near[: nbytes + 2 * GUARD], expected), nbytes
        team.barrier()
    assert to_numpy(signal).tolist() == ([0, len(sizes)] if what == "put_signal" else [0, 0])


def test_signals_grow(team):
    """A wait for a value that was passed long ago returns, as does a wait for a lesser value."""
    right, left = (team.me + 1) % team.n_pes, (team.me - 1) % team.n_pes
    x, signal = team.zeros(4, "int64"), team.signals(3)
    for value in (1, 2, 3, 2**31, 2**32 + 5, 2**62 - 1):
        team.put_signal(x, x, signal[2:3], value, right)
        team.wait_signal(signal[2:3], value, left)
        team.wait_signal(signal[2:3], 1)
        assert to_numpy(signal).tolist() == [0, 0, value]
        team.barrier()


def test_a_put_and_a_get_reach_a_pe_that_computes(team):
    """The waiting PE makes no call meanwhile, but PEs of other nodes see its memory change."""
    count, far = 3 << 16, team.n_pes - 1
    array, signal = team.full(count, team.me, "int64"), team.signals(1)
    team.barrier()
    if team.me == 0:
        found = device(team, np.zeros(count, np.int64))
        team.put(array, device(team, np.full(count, 77)), far)
        team.get(found, array, far)
        assert same(found, np.full(count, 77))
        team.put_signal(array, device(team, np.full(count, 78)), signal, 1, far)
    end_s = time.monotonic() + 10
    while team.me == far and not to_numpy(signal)[0]:
        assert time.monotonic() < end_s, "nothing came"
    assert team.me != far or same(array, np.full(count, 78))


def test_puts_of_one_pe_arrive_in_order(team):
    """A source may be changed after its put has returned to the host, or in the stream's order, whatever the size."""
    far, rng = team.n_pes - 1, np.random.default_rng(1)
    sizes = rng.choice([1, 8, 32768, 32769, 1 << 17, (1 << 17) + 1, 1 << 20], 400, p=[0.4, 0.3, *(0.07,) * 4, 0.02])
    array, signal, source = team.zeros(1 << 20, "uint8"), team.signals(1), device(team, np.zeros(1 << 20, np.uint8))
    expected = np.zeros(1 << 20, np.uint8)
    for k, n in enumerate(sizes.tolist()):
        expected[:n] = k % 251
        if team.me == 0:
            write(source[:n], np.full(n, k % 251))
            team.put_signal(array[:n], source[:n], signal, k + 1, far)
    if team.me == far:
        team.wait_signal(signal, len(sizes), 0)
        assert same(array, expected)


def test_all_pes_send_much_to_all_others_at_once(team):
    """16 MiB in all, before any PE receives; and meetings at the same time, more than there are tags."""
    n, me, count = team.n_pes, team.me, (1 << 21) // team.n_pes
    inbox, signals = team.zeros((n, count), "int64"), team.signals(n)
    team.barrier()
    for pe in (*range(me + 1, n), *range(me)):
        team.put_signal(inbox[me], device(team, np.full(count, 1000 * me + pe)), signals[me : me + 1], 1, pe)
    for k in range(3 * N_TAGS):
        brought = bytes([me]) * (k % 3 * 4000)
        assert team.gather(brought) == [bytes([pe]) * len(brought) for pe in range(n)]
    for pe in (*range(me + 1, n), *range(me)):
        team.wait_signal(signals[pe : pe + 1], 1, pe)
        assert same(inbox[pe], np.full(count, 1000 * pe + me))


def test_peer_views(team):
    x = team.array(np.arange(60).reshape(3, 20) + 1000 * team.me, "int32")
    team.barrier()
    team.synchronize()
    reached = [pe for pe in range(team.n_pes) if reaches(team, x, pe)]  # by a pointer
    right, left = (reached[(reached.index(team.me) + step) % len(reached)] for step in (1, -1))
    view = team.peer(x, right)
    assert view.shape == (3, 20) and same(view, np.arange(60).reshape(3, 20) + 1000 * right)
    assert same(team.peer(x[1, 3:7], right), np.arange(23, 27) + 1000 * right)
    assert same(team.peer(x, team.me), to_numpy(x))
    team.synchronize()
    team.barrier()
    write(team.peer(x[2:], right), np.full((1, 20), team.me))
    team.synchronize()
    team.barrier()
    assert same(x[2], np.full(20, left))


def test_registered_arrays(team):
    x, source = team.zeros(5000, "float32"), device(team, np.arange(5000, dtype=np.float32))
    team.register(source)
    team.put(x, source, team.me)
    assert same(x, np.arange(5000))
    refused(ValueError, "outside the symmetric heap that is not registered yet", team.register, source)
    refused(ValueError, "outside the symmetric heap", team.register, x)
    team.unregister(source)
    refused(ValueError, "that register\\(\\) has registered", team.unregister, source)
    team.register(source)
    team.unregister(source)


def test_a_barrier_holds_everyone(team):
    """No PE is past barrier k while another PE is before it."""
    counts = team.zeros(team.n_pes, "int64")
    one = device(team, np.zeros(1, np.int64))
    team.barrier()
    for k in range(1, 30):
        write(one, [k])
        team.put(counts[team.me : team.me + 1], one, (team.me + k) % team.n_pes)
        team.put(counts[team.me : team.me + 1], one, team.me)
        team.barrier()
        team.synchronize()
        seen = to_numpy(counts)
        team.barrier()
        assert seen[team.me] == k and seen[(team.me - k) % team.n_pes] == k


def test_streams_and_events(team):
    first, second = team.stream(), team.stream("high")
    x, y, z = team.zeros(1000, "float32"), team.zeros(1000, "float32"), device(team, np.ones(1000, np.float32))
    team.barrier()
    team.synchronize()
    team.put(x, z, (team.me + 1) % team.n_pes, stream=first)
    team.barrier(stream=first)
    event = first.record()
    second.wait_event(event)
    team.put(y, x, (team.me + 1) % team.n_pes, stream=second)
    team.barrier(stream=second)
    second.synchronize()
    event.synchronize()
    assert same(y, np.ones(1000))
    with first:
        team.put(x, y, team.me)
    team.synchronize(first)
    team.synchronize()
    assert first.record(event) is not None


def test_a_receive_of_the_program_takes_nothing_of_the_library(team):
    """The program receives any tag of any PE, while the library meets, puts and shows signs of life."""
    n, me, words, got = team.n_pes, team.me, team.signals(1), np.zeros(1, np.int64)
    pending = team.comm.Irecv(got)
    assert team.gather(me) == list(range(n))
    for k in range(1, 100):
        team.put_signal(words[:0], words[:0], words, k, (me + 1) % n)
    team.wait_signal(words, 99, (me - 1) % n)
    time.sleep(2.5 * BEAT_S)
    assert team.gather(pending.Test()) == [False] * n
    team.comm.Send(np.array([100 + me]), (me + 1) % n)
    pending.Wait()
    assert team.gather(int(got[0]) - 100) == [(pe - 1) % n for pe in range(n)]


def test_a_put_made_before_is_checked_again_once_an_array_is_freed(team):
    x, words = team.zeros(4, "int32"), team.signals(1)
    for k in (1, 2):
        team.put_signal(x, x, words, k, team.me)
    team.free(x)
    y = team.zeros(4, "int32")  # at the same address
    refused(ValueError, "freed", team.put_signal, x, x, words, 3, team.me)
    team.put_signal(y, y, words, 3, team.me)
    refused(ValueError, "outside this team", team.put_signal, y, y, words, 4, team.n_pes)
    refused(TypeError, "is not an int", team.put_signal, y, y, words, 4, True)
    team.wait_signal(words, 3)
