"""The norm of a kernel that sweeps rows itself: the groups of some rows, by the threads of its blocks."""

import math

import numpy as np
import pytest
from on_device import device, to_numpy
from sweep_reference import group_values, words_of

from pennympi.kernels.block import Elements, Words, block
from pennympi.kernels.in_kernel.exact import WORDS, SumWords
from pennympi.kernels.sweep.norm import COPIES, counting
from pennympi.kernels.sweep.norm_of_rows import add_squares_of_block, adder_of_rows, squares_before

ROWS, PITCH = 7, 64  # elements from a row to the next


def kernel_of(item_bytes):
    """words (COPIES, WORDS) += the squares of new - old (blocks, ROWS, PITCH), whose first ``points`` of a row count."""
    add = adder_of_rows(item_bytes)

    def kernel(ctx, new: Elements, old: Elements, points, words: Words):
        squares, pitch, at = squares_before(words), PITCH * item_bytes, block() * ROWS * PITCH * item_bytes
        squares = add(squares, (new + at, old + at), pitch, 3, points)
        squares = add(squares, (new + at + 3 * pitch, old + at + 3 * pitch), pitch, ROWS - 3, points)
        add_squares_of_block(words, squares)

    return kernel


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("points", [1, 8, 45, PITCH])
def test_the_words_of_the_reference(team, points, dtype):
    """Of sizes that need each window, in words that hold nothing, or what another kernel added before."""
    rng, kernel = np.random.default_rng(points), team.kernel(kernel_of(np.dtype(dtype).itemsize), dtype)
    for scale in (1e-30, 1e-9, 1e-3, 1.0, 3e4, 1e30, math.nan):
        old, new = np.zeros((2, 3, ROWS, PITCH), dtype)
        new[..., :points] = scale * rng.standard_normal((3, ROWS, points))
        values, words = group_values(new), device(team, np.zeros((COPIES, WORDS), "int64"))
        for times in (1, 2):
            kernel(3, device(team, new), device(team, old), points, words)
            found = SumWords(*to_numpy(words).sum(axis=0)[: len(SumWords._fields)].tolist())
            wanted = words_of(np.repeat(values, times))
            assert (found.bad > 0) == (wanted.bad > 0)
            assert wanted.bad or counting(found) == wanted
