"""OpenSHMEM's unit tests (openshmem-org/tests-sos, test/unit) with this library's calls; a test has their name."""

import numpy as np
import pytest
from on_device import device, same, write

import pennympi

pytestmark = [pytest.mark.mpi, pytest.mark.hosts]
N = 4096


def next_and_last(team):
    """The next and the previous PE in the ring."""
    return (team.me + 1) % team.n_pes, (team.me - 1) % team.n_pes


def test_put_signal(team):
    """A message goes round the ring, twice: each PE sends on what it has received."""
    after, before = next_and_last(team)
    target, signal = team.zeros(N, "int64"), team.signals(1)
    for lap in (1, 2):
        source = target if team.me else device(team, np.arange(N) + lap)
        if team.me:
            team.wait_signal(signal, lap, source=before)
        team.put_signal(target, source, signal, lap, after)
        team.wait_signal(signal, lap, source=before)
        assert same(target, np.arange(N) + lap)
        team.barrier()


def test_signal_wait_until(team):
    """All PEs signal all PEs; a wait for a lesser value than the present one returns."""
    target, signals = team.zeros((team.n_pes, N), "int64"), team.signals(team.n_pes)
    for pe in range(team.n_pes):
        team.put_signal(target[team.me], device(team, np.arange(N) * team.me), signals[team.me : team.me + 1], 2, pe)
    for value in (2, 1):
        for pe in range(team.n_pes):
            team.wait_signal(signals[pe : pe + 1], value, source=pe)
    assert same(target, np.arange(N) * np.arange(team.n_pes)[:, None])
    team.barrier()


def test_circular_shift(team):
    """Get a number from the next PE."""
    after, _ = next_and_last(team)
    mine, found = team.full(1, team.me, "int32"), device(team, np.zeros(1, "int32"))
    team.barrier()
    team.get(found, mine, after)
    assert same(found, [after])
    team.barrier()


def test_bigput_and_bigget(team):
    """Put megabytes, and get them back."""
    after, before = next_and_last(team)
    target, found = team.zeros(1 << 19, "int64"), device(team, np.zeros(1 << 19, "int64"))
    team.put(target, device(team, np.arange(1 << 19) + team.me), after)
    team.barrier()
    assert same(target, np.arange(1 << 19) + before)
    team.get(found, target, after)
    assert same(found, np.arange(1 << 19) + team.me)
    team.barrier()


def test_pingpong(team):
    """Two PEs return each other's growing messages: a PE that sees the signal sees the data."""
    partner = team.me ^ 1
    ball, signal, mine = team.zeros(50_000, "int64"), team.signals(1), device(team, np.zeros(50_000, "int64"))
    team.barrier()
    if partner < team.n_pes:
        for k in range(60):
            n = k * k * 13
            if (k + team.me) % 2:
                team.wait_signal(signal, k + 1, source=partner)
                assert same(ball[:n], np.full(n, k))
            else:
                write(mine[:n], np.full(n, k))
                team.put_signal(ball[:n], mine[:n], signal, k + 1, partner)
    team.barrier()


def test_spam(team):
    """All PEs write messages of all sizes to all PEs."""
    sizes = [1, 7, 64, 1000, 5000]
    target = team.zeros((team.n_pes, sum(sizes)), "int16")
    for pe in range(team.n_pes):
        at = 0
        for size in sizes:
            team.put(target[team.me, at : at + size], device(team, np.full(size, team.me + size, "int16")), pe)
            at += size
    team.barrier()
    assert same(target, np.stack([np.repeat(np.array(sizes) + pe, sizes).astype("int16") for pe in range(team.n_pes)]))


def test_repeated_barriers(team):
    """Many barriers of the PEs from k on, for each k."""
    for k in range(team.n_pes):
        part = team.comm.Split(int(team.me >= k), team.me)
        with pennympi.init(part) as some:
            for _ in range(20):
                some.quiet()
                some.barrier()
            some.synchronize()
        part.Free()


def test_bcast_flood(team):
    """Broadcasts one after another, whose root changes the numbers each time."""
    x = team.zeros(N, "int32")
    for k in range(50):
        if team.me == 0:
            x[...] = k
        team.broadcast(x, root=0)
        assert same(x, np.full(N, k))


def test_bcast_in_place(team):
    """From each root in turn, over the result of the previous root."""
    x = team.full(N, team.me, "int64")
    for root in range(team.n_pes):
        x[...] = team.me
        team.broadcast(x, root=root)
        assert same(x, np.full(N, root))


def test_collect(team):
    """Parts of different lengths, some of them empty, one after another."""
    counts = [pe % 3 * 11 for pe in range(team.n_pes)]
    out = team.zeros(max(sum(counts), 1), "int64")
    team.all_gatherv(device(team, np.full(counts[team.me], team.me)), out[: sum(counts)], counts)
    assert same(out[: sum(counts)], np.repeat(np.arange(team.n_pes), counts))


def test_alltoall(team):
    """Each PE has a part for each PE."""
    x = device(team, np.repeat(np.arange(team.n_pes) + 100 * team.me, 8))
    assert same(team.all_to_all(x), np.repeat(team.me + 100 * np.arange(team.n_pes), 8))


@pytest.mark.parametrize("count", [0, 1, 1 << 18], ids=["nop_collectives", "max_reduction", "big_reduction"])
def test_reductions(team, count):
    """Reductions of nothing, a number, and megabytes; in place, too."""
    x, out = device(team, np.arange(count) + team.me), device(team, np.zeros(count, "int64"))
    team.allreduce(x, out, op="max")
    assert same(out, np.arange(count) + team.n_pes - 1)
    team.allreduce(x, op="min")
    assert same(x, np.arange(count))


def test_team_b2b_collectives(team):
    """Collectives of a team of all PEs and of a team of some PEs, in turns, without a barrier."""
    half = team.comm.Split(team.me % 2, team.me)
    with pennympi.init(half) as some:
        for k in range(20):
            x, y = device(team, np.full(N, team.me + k)), device(team, np.full(N, some.me + k))
            team.allreduce(x, op="max")
            some.broadcast(y, root=some.n_pes - 1)
            assert same(x, np.full(N, team.n_pes - 1 + k)) and same(y, np.full(N, some.n_pes - 1 + k))
    half.Free()
