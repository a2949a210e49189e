"""The norm of a sweep: values of groups, and their exact sum in three bins, in any order and any split."""

import math
from fractions import Fraction
from importlib import import_module

import numpy as np
import pytest
from on_device import device, to_numpy
from sweep_reference import group_values, words_of

from pennympi.kernels.block import block, blocks, lanes, load, real, store, sync
from pennympi.kernels.in_kernel.exact import BAD_WORD, WORDS, SumWords
from pennympi.kernels.sweep import norm
from pennympi.kernels.sweep.norm import (
    COPIES,
    add_group,
    add_squares_to_words,
    adder,
    group_points,
    half_sum,
    no_squares,
    norm_of,
)

DTYPES = ["float32", "float64"]
LANES, ALONE = 32, 100  # values of a block that are added one by one


def value_of(dtype):
    """``value(x, i)``: that of the group of changes that begins at x[i]."""
    half = group_points(np.dtype(dtype).itemsize) // 2
    add_up = half_sum(half)

    def two(x, i):
        return load(x, i), load(x, i + 1)

    def four(x, i):
        return load(x, i), load(x, i + 1), load(x, i + 2), load(x, i + 3)

    part = {2: two, 4: four}[half]

    def value(x, i):
        return add_up(part(x, i)) + add_up(part(x, i + half))

    return value


def into_words(team, dtype):
    """A kernel: values (n,) = those of the groups of x; words (COPIES, WORDS) += values, one by one, then by fours."""
    value, n_points = value_of(dtype), group_points(np.dtype(dtype).itemsize)
    add_four, add_to_words = adder(4), add_squares_to_words
    if team.backend == "cuda":
        on_gpu = import_module("pennympi.cuda.sweep.norm")
        add_four, add_to_words = on_gpu.warp_adder(4), on_gpu.add_squares_of_warp

    def given(values, i, stop):
        return load(values, i) if i < stop else real(0)

    def kernel(ctx, x, n, values, words):
        squares, share = no_squares(), (n + blocks() - 1) // blocks()
        start, stop = block() * share, min(n, (block() + 1) * share)
        for i in lanes(start, stop):
            store(values, i, value(x, i * n_points))
        sync()
        for i in lanes(start, min(start + ALONE, stop)):
            squares = add_group(squares, load(values, i))
        for k in lanes(0, (share - ALONE + 4 * LANES - 1) // (4 * LANES) * LANES):  # as often in each lane
            i = start + ALONE + LANES * (4 * (k // LANES)) + k % LANES
            four = given(values, i, stop), given(values, i + LANES, stop), given(values, i + 2 * LANES, stop)
            squares = add_four(squares, (*four, given(values, i + 3 * LANES, stop)))
        add_to_words(words, squares)

    return kernel


def changes_of(seed, n, dtype):
    """(n,) changes of either sign, over a range of sizes that begins anywhere."""
    rng = np.random.default_rng(seed)
    low = rng.integers(-90, 10)
    high = rng.integers(low + 1, 17)
    x = rng.standard_normal(n) * 2.0 ** rng.integers(low, high, n)
    x[rng.integers(0, n, n // 8)] = 2.0 ** rng.integers(low, high, n // 8)  # whose squares lie on the bins' edges
    x[rng.integers(0, n, n // 3)] = 0
    return np.where(np.abs(x) < 2.0**17, x, 1.0).astype(dtype)


@pytest.mark.mpi
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n_blocks", [1, 7])
@pytest.mark.parametrize("seed", range(5))
def test_on_the_device(team, dtype, n_blocks, seed):
    n = ALONE * n_blocks + 7 * 131 + 3
    changes = changes_of(seed, n * group_points(np.dtype(dtype).itemsize), dtype)
    words, values = device(team, np.zeros((COPIES, WORDS), "int64")), device(team, np.zeros(n, dtype))
    team.kernel(into_words(team, dtype), dtype)(n_blocks, device(team, changes), n, values, words, threads=LANES)
    team.synchronize()
    wanted = group_values(changes)
    np.testing.assert_array_equal(to_numpy(values), wanted)
    found = to_numpy(words).sum(axis=0)
    assert norm.counting(SumWords(*found[: BAD_WORD + 1].tolist())) == words_of(wanted)
    exact = math.sqrt(sum((Fraction(x) ** 2 for x in changes.astype("float64").tolist()), Fraction(0)))
    assert norm_of(words_of(wanted)) == pytest.approx(exact, rel=1e-6 if dtype == "float32" else 1e-12)
