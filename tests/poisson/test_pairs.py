"""The kernels of an iteration for a GPU, lane by lane, against those of a CPU: the same fields and sums, bit for bit."""

from fractions import Fraction

import numpy as np
import pytest

pytest.importorskip("numba_cuda", reason="numba-cuda is not installed")
pytest.importorskip("greenlet", reason="the lanes of a warp run as greenlets")
from greenlets import Blocks

from apps.poisson import kernels, loop, pairs
from apps.poisson.kernels import mark
from apps.poisson.points import Now, now_of
from apps.poisson.records import Part, Scalars, Vectors
from pennympi.kernels.in_kernel import add_to_words, read_sum
from pennympi.kernels.in_kernel.exact import BIN_BITS, TOP_BIT, in_units

ITEM, LINE = 8, 8
SHAPES = [(1, 5, 3), (4, 3, 64), (3, 18, 67), (7, 2, 128), (2, 17, 1)]


def run(kernel, memory, args, blocks, threads):
    """The sum that a kernel makes, from fields in ``memory`` (elements,), at iteration 0."""
    total = [Fraction()]

    def add(words, bins):
        total[0] += sum(int(part) * Fraction(2) ** (TOP_BIT - BIN_BITS * k) for k, part in enumerate(in_units(bins)))

    made = {
        now_of: lambda s, ahead: Now(0, 0.75, 0.5, True), read_sum: lambda words: 3.0,
        add_to_words: add, mark: lambda *args: None,
    }  # fmt: skip
    Blocks(memory.view(np.uint8), memory.dtype).run([(kernel, blocks, threads, 0, (0, *args))], made)
    return total[0]


@pytest.mark.parametrize("rims", [0, 63, 0b100110])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", ["update_direction", "update_solution"])
def test_a_warp_computes_what_a_row_does(name, shape, rims):
    nx, ny, nz = shape
    row = -(-(LINE + nz + 1) // LINE) * LINE
    plane, lead = (ny + 2) * row, 2 * row + LINE - 1
    size = (nx + 2) * plane + 4 * row
    part = Part(nx, ny, nz, plane + row + 1, plane, row, 0.5, 1.0, 0.25, rims)
    vectors = Vectors(*(ITEM * (lead + k * size) for k in range(4)))
    before = np.full(4 * size, np.nan)  # what lies between the points of rows is read, and must not count
    fields = [before[k * size + lead :][: (nx + 2) * plane].reshape(nx + 2, ny + 2, row)[..., : nz + 2] for k in range(4)]
    for k, field in enumerate(fields):
        field[...] = np.random.default_rng(k).standard_normal(field.shape)
        edges = [(slice(None),) * d + (side,) for d in range(3) for side in (0, -1)]
        for d, at in enumerate(edges):
            if not rims >> d & 1:
                field[at] = 0.0
    plain, by_pairs = before.copy(), before.copy()
    given = part, vectors, Scalars(0, 0, 0.0, 0, 0, 0, 0), 0
    expected = run(getattr(kernels, name), plain, given, 1, 1)
    tiles, blocks = loop.tiles_of(part, 3)
    sums = run(getattr(pairs, f"{name}_of")(ITEM), by_pairs, (*given, tiles), blocks, loop.TILE_THREADS)
    np.testing.assert_array_equal(by_pairs, plain)
    assert sums == expected != 0
