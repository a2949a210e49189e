"""The norm of a sweep: values of groups, and their exact sum in three bins, in any order and any split."""

import math
from collections.abc import Callable
from fractions import Fraction
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
import pytest
from on_device import device, to_numpy
from sweep_reference import group_values, words_of

from pennympi import specialised
from pennympi.kernels.block import Static, block, blocks, lanes, load, real, static, store, sync
from pennympi.kernels.in_kernel.exact import BAD_WORD, WORDS, SumWords
from pennympi.kernels.sweep import norm
from pennympi.kernels.sweep.norm import (
    COPIES,
    add_group,
    add_squares_to_words,
    add_values,
    group_points,
    half_sum,
    no_squares,
    norm_of,
)


class Adds(NamedTuple):
    """How a device adds four values to squares, and squares to words."""

    values: Callable[..., Any]
    to_words: Callable[..., Any]


DTYPES = ["float32", "float64"]
LANES, ALONE = 32, 100  # values of a block that are added one by one


def group_value(half: Static[int], x, i):
    """The value of the group of changes that begins at x[i]."""
    return half_value(half, x, i) + half_value(half, x, i + half)


def half_value(n: Static[int], x, i):
    """``half_sum`` of n changes that begin at x[i]."""
    return half_sum(n, tuple(load(x, i + k) for k in static(n)))


def value_or_zero(values, i, stop):
    """values[i], but 0 from ``stop`` on."""
    return load(values, i) if i < stop else real(0)


def into_words(half: Static[int], adds: Static[Adds], ctx, x, n, values, words):
    """A kernel: values (n,) = those of the groups of x; words (COPIES, WORDS) += values, first one by one, then by
    fours."""
    squares, share = no_squares(), (n + blocks() - 1) // blocks()
    start, stop = block() * share, min(n, (block() + 1) * share)
    for i in lanes(start, stop):
        store(values, i, group_value(half, x, 2 * half * i))
    sync()
    for i in lanes(start, min(start + ALONE, stop)):
        squares = add_group(squares, load(values, i))
    for k in lanes(0, (share - ALONE + 4 * LANES - 1) // (4 * LANES) * LANES):  # each lane runs the loop as often
        i = start + ALONE + LANES * (4 * (k // LANES)) + k % LANES
        squares = adds.values(4, squares, tuple(value_or_zero(values, i + j * LANES, stop) for j in static(4)))
    adds.to_words(words, squares)


def kernel_of(team, dtype):
    """``into_words`` for a team's device."""
    adds = Adds(add_values, add_squares_to_words)
    if team.backend == "cuda":
        on_gpu = import_module("pennympi.stencil.on_gpu.warp.norm")
        adds = Adds(on_gpu.add_values_of_warp, on_gpu.add_squares_of_warp)
    return specialised(into_words, group_points(np.dtype(dtype).itemsize) // 2, adds)


def changes_of(seed, n, dtype):
    """(n,) changes of either sign, in a random range of sizes."""
    rng = np.random.default_rng(seed)
    low = rng.integers(-90, 10)
    high = rng.integers(low + 1, 17)
    x = rng.standard_normal(n) * 2.0 ** rng.integers(low, high, n)
    x[rng.integers(0, n, n // 8)] = 2.0 ** rng.integers(low, high, n // 8)  # their squares are at the edges of the bins
    x[rng.integers(0, n, n // 3)] = 0
    return np.where(np.abs(x) < 2.0**17, x, 1.0).astype(dtype)


@pytest.mark.mpi
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n_blocks", [1, 7])
@pytest.mark.parametrize("seed", range(2))
def test_on_the_device(team, dtype, n_blocks, seed):
    n = ALONE * n_blocks + 7 * 131 + 3
    changes = changes_of(seed, n * group_points(np.dtype(dtype).itemsize), dtype)
    words, values = device(team, np.zeros((COPIES, WORDS), "int64")), device(team, np.zeros(n, dtype))
    team.kernel(kernel_of(team, dtype), dtype)(n_blocks, device(team, changes), n, values, words, threads=LANES)
    team.synchronize()
    wanted = group_values(changes)
    np.testing.assert_array_equal(to_numpy(values), wanted)
    found = to_numpy(words).sum(axis=0)
    assert norm.window_words(SumWords(*found[: BAD_WORD + 1].tolist())) == words_of(wanted)
    exact = math.sqrt(sum((Fraction(x) ** 2 for x in changes.astype("float64").tolist()), Fraction(0)))
    assert norm_of(words_of(wanted)) == pytest.approx(exact, rel=1e-6 if dtype == "float32" else 1e-12)
