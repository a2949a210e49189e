"""The exact sums of kernels/in_kernel: the same bits in any order and on any number of PEs, barrier after barrier."""

import math
from fractions import Fraction
from random import Random

import numpy as np
import pytest
from mpi4py import MPI
from on_device import device, to_numpy

from pennympi.kernels.block import block, blocks, is_leader, lanes, load, store
from pennympi.kernels.in_kernel import (
    LIMIT,
    WORDS,
    GridBarrier,
    SumWords,
    add_to_bins,
    add_to_words,
    all_sum,
    as_float,
    grid_barrier,
    grid_barrier_words,
    last_grid_barrier,
    no_bins,
    read_sum,
    sums_at,
    words_at,
)

N_PES = MPI.COMM_WORLD.size
LOST = Fraction(2) ** -143  # the most that a value can lose


def into_words(ctx, x, y, n, words):
    """words (WORDS,) += the sum of x * y, (n,) each."""
    bins = no_bins()
    share = (n + blocks() - 1) // blocks()
    for i in lanes(block() * share, min(n, (block() + 1) * share)):
        bins = add_to_bins(bins, load(x, i) * load(y, i))
    add_to_words(words, bins)


def summed(ctx, x, y, n, place: GridBarrier, times, out):
    """out (times,) = the sum of x * y over the PEs, several times."""
    epoch = last_grid_barrier(place)
    for k in range(times):
        bins = no_bins()
        for i in lanes(0, n):
            bins = add_to_bins(bins, load(x, i) * load(y, i))
        total = all_sum(ctx, place, epoch + 1 + k, bins)
        if is_leader():
            store(out, k, total)


def summed_two(ctx, x, n, place: GridBarrier, out):
    """out (2,) = the sums of x and of x * x over the PEs."""
    bins, squares = no_bins(), no_bins()
    for i in lanes(0, n):
        bins = add_to_bins(bins, load(x, i))
        squares = add_to_bins(squares, load(x, i) * load(x, i))
    add_to_words(words_at(place, 0), bins)
    add_to_words(words_at(place, 1), squares)
    grid_barrier(ctx, place, last_grid_barrier(place) + 1)
    if is_leader():
        store(out, 0, read_sum(sums_at(place, 0)))
        store(out, 1, read_sum(sums_at(place, 1)))


def values(seed, n):
    """(n,) numbers of very different sizes and both signs, whose sum cancels."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(n) * 2.0 ** rng.integers(-60, 30, n)
    x[n // 2 :] -= x[: n - n // 2]
    return x


def words_of(team, x, y, n_blocks=1):
    words = device(team, np.zeros(WORDS, "int64"))
    team.kernel(into_words, "float64")(n_blocks, device(team, x), device(team, y), len(x), words, threads=64)
    team.synchronize()
    return to_numpy(words)


def float_of(words):
    return as_float(SumWords(*words[: len(SumWords._fields)].tolist()))


@pytest.mark.mpi
@pytest.mark.parametrize("n_blocks", [1, 5])
def test_exact_and_in_any_order(team, n_blocks):
    """The words hold the sum of the products, each rounded once; shuffled products give the same words."""
    x, y = values(1, 1001), values(2, 1001) * 2.0**-30
    words = words_of(team, x, y, n_blocks)
    exact = sum(map(Fraction, x * y), Fraction(0))
    found = sum((Fraction(2) ** (8 - 30 * k) * int(words[k]) for k in range(6)), Fraction(0))
    assert abs(found - exact) <= len(x) * LOST
    order = np.random.default_rng(3).permutation(len(x))
    assert float_of(words_of(team, x[order], y[order], 3)) == float_of(words)
    assert float_of(words) == pytest.approx(float(exact), rel=1e-15)


@pytest.mark.mpi
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, LIMIT, -LIMIT])
def test_what_is_no_number_or_too_large(team, bad):
    x = np.array([1.0, bad, 2.0])
    assert math.isnan(float_of(words_of(team, x, np.ones(3))))


@pytest.mark.mpi
def test_the_largest_and_the_smallest(team):
    most, least = np.nextafter(LIMIT, 0.0), 2.0**-142
    assert float_of(words_of(team, np.array([most, most, -most, -most, least]), np.ones(5))) == least
    assert float_of(words_of(team, np.array([most, most]), np.ones(2))) == 2 * most


def test_floats_of_words():
    """The result is within a unit in the last place of the exact sum, for any words."""
    random = Random(4)
    for _ in range(2000):
        words = [random.randint(-(2 ** random.randint(1, 62)), 2 ** random.randint(1, 62)) for _ in range(6)]
        exact = sum((Fraction(2) ** (8 - 30 * k) * one for k, one in enumerate(words)), Fraction(0))
        found = as_float(SumWords(*words, 0))
        assert abs(Fraction(found) - exact) <= Fraction(math.ulp(float(exact)))
    assert math.isnan(as_float(SumWords(1, 2, 3, 4, 5, 6, 1)))


@pytest.mark.mpi
def test_over_all_pes_again_and_again(team):
    """Every PE gets the bits of the sum on one PE, at each of many barriers of several launches."""
    x, y = values(5, 997), values(6, 997) * 2.0**-30
    alone = float_of(words_of(team, x, y))
    begin, end = (len(x) * pe // N_PES for pe in (team.me, team.me + 1))
    memory = team.zeros(grid_barrier_words(N_PES, 1), "int64")
    place, out = GridBarrier(team.me, N_PES, 1, memory), device(team, np.zeros(20))
    mine = device(team, x[begin:end]), device(team, y[begin:end])
    for _ in range(3):
        team.kernel(summed, "float64")(1, *mine, end - begin, place, 20, out)
        team.synchronize()
    every = team.gather(to_numpy(out).tobytes())
    assert set(every) == {np.full(20, alone).tobytes()}


@pytest.mark.mpi
def test_several_values_at_one_barrier(team):
    memory = team.zeros(grid_barrier_words(N_PES, 2), "int64")
    place, out = GridBarrier(team.me, N_PES, 2, memory), device(team, np.zeros(2))
    x = np.arange(10.0) + team.me
    team.kernel(summed_two, "float64")(1, device(team, x), 10, place, out)
    team.synchronize()
    every = np.concatenate([np.arange(10.0) + pe for pe in range(N_PES)])
    found = team.gather(to_numpy(out).tolist())
    assert found == [[every.sum(), np.square(every).sum()]] * N_PES
