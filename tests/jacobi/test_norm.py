"""The exact sum of the solver's norm up to its limit, and the refusal of problems beyond it."""

import math

import numpy as np
import pytest
from on_device import device, to_numpy
from warp import add_lane

from apps.jacobi.grid.problem import Problem
from apps.jacobi.norm import exact_sum
from apps.jacobi.norm.add_exact import LaneSum, add_exact
from apps.jacobi.norm.exact_sum import (
    FRACTION_BITS,
    LIMB_BITS,
    LIMBS,
    MAX_CHUNK_ROWS,
    MAX_SEGMENTS,
    WORDS,
    limb_unit,
    segment_columns,
)
from apps.jacobi.norm.norm import norms_of
from apps.jacobi.sweep.band import chunk_rows
from pennympi.kernels.block import first

MILLIONS = 1 << 22
FULL = (1 << LIMB_BITS) - 1


def add_many(ctx, words, count, value):
    """Add ``count`` segments of sum ``value``."""
    if first():
        for _ in range(count):
            add_exact(words, value)


def after(team, count, value, before=None):
    """The words (WORDS,) after a kernel has added ``count`` segments of sum ``value`` to ``before``."""
    words = device(team, np.zeros(WORDS, "int64") if before is None else before)
    team.kernel(add_many, "float32")(1, words, count, value)
    team.synchronize()
    return to_numpy(words)


def times(words, count):
    """The words times ``count``, modulo 2**64."""
    return (words.view("u8") * np.uint64(count)).view("i8")


def norm(words):
    return norms_of(np.zeros((1, 1, WORDS), "i8"), words[None, None])[0]


def exact(value, count):
    """The norm of ``count`` segments of sum ``value``, in integer arithmetic."""
    return math.sqrt(math.ldexp(count * int(math.ldexp(value, FRACTION_BITS)), -FRACTION_BITS))


def test_millions_of_segments(team):
    """About as many segments as 32768 x 32768 points of float32 have, whose norm is 500.

    One word a limb, of 44 bits a segment, would overflow, and give 231.
    """
    value = 500.0**2 / MILLIONS
    assert norm(after(team, MILLIONS, value)) == exact(value, MILLIONS) == 500.0


@pytest.mark.parametrize("k", range(LIMBS))
def test_up_to_the_limit_and_not_beyond(team, k):
    """With the largest value of a limb, the last million of MAX_SEGMENTS still fits, and two million more do not."""
    value, million = FULL * limb_unit(k), 1 << 20
    nearly = times(after(team, 1, value), MAX_SEGMENTS - million)
    words = after(team, million, value, nearly)
    assert norm(words) == exact(value, MAX_SEGMENTS)
    assert norm(after(team, 2 * million, value, words)) != exact(value, MAX_SEGMENTS + 2 * million)


@pytest.mark.parametrize("k", range(LIMBS))
def test_highest_chunks_up_to_the_limit(k):
    """The same for what a warp adds, each time the sum of the rows of a chunk."""
    words, limb = np.zeros(exact_sum.WORDS_BYTES, "u1"), MAX_CHUNK_ROWS * FULL
    assert limb < 1 << 63
    add_lane(words, 0, 0, LaneSum(k, LIMBS, 0, 1), limb, False)
    words = times(words.view("i8"), MAX_SEGMENTS // MAX_CHUNK_ROWS)
    assert norm(words) == exact(FULL * limb_unit(k), MAX_SEGMENTS)


def test_no_chunk_is_too_high():
    for rows in (MAX_CHUNK_ROWS - 1, 2**31):
        for sweeps, warps in ((1, 5), (4, 1000), (8, 24)):
            assert chunk_rows(rows, 1, warps, sweeps) <= MAX_CHUNK_ROWS


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_refuses_one_row_beyond_the_limit(dtype):
    nx, rows = segment_columns(dtype) << 20, MAX_SEGMENTS >> 20
    assert not exact_sum.refuse(Problem(nx, rows + 2, dtype=dtype))
    for more in (Problem(nx, rows + 3, dtype=dtype), Problem(nx + 1, rows + 2, dtype=dtype)):
        assert exact_sum.refuse(more).endswith(f"exact for at most {MAX_SEGMENTS}: use a smaller --nx or --ny")
