"""The kernels of an iteration for a GPU, lane by lane, against those of a CPU: the same fields and sums, bit for bit."""

from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("numba_cuda", reason="numba-cuda is not installed")
pytest.importorskip("greenlet", reason="the lanes of a warp run as greenlets")
import greenlet

from apps.poisson import kernels, loop, pairs
from apps.poisson.kernels import mark
from apps.poisson.points import Now, now_of
from apps.poisson.records import Part, Scalars, Vectors
from pennympi.compile.bind import bind
from pennympi.kernels.in_kernel import add_to_words, read_sum
from pennympi.kernels.in_kernel.exact import BIN_BITS, TOP_BIT, in_units

ITEM, LINE, LANES, FIELDS = 8, 8, 32, ("u", "r", "even", "odd")
SHAPES = [(1, 5, 3), (4, 3, 64), (3, 18, 67), (7, 2, 128), (2, 17, 1)]


class Lane(greenlet.greenlet):
    """A thread of a block, which gives its number to its warp, and gets all of them."""

    index = 0


def this():
    return greenlet.getcurrent().index


class Cuda:
    laneid, blockDim = property(lambda self: this() % LANES), SimpleNamespace(x=loop.TILE_THREADS)
    threadIdx = property(lambda self: SimpleNamespace(x=this()))

    def shfl_up_sync(self, mask, x, step):
        return greenlet.getcurrent().parent.switch(x)[max(this() % LANES - step, 0)]

    def shfl_down_sync(self, mask, x, step):
        return greenlet.getcurrent().parent.switch(x)[min(this() % LANES + step, LANES - 1)]


def run_warp(first, function):
    """Run a function in all lanes; they come to the same exchanges, or have all ended."""
    lanes = [Lane(function) for _ in range(LANES)]
    for k, lane in enumerate(lanes):
        lane.index = first + k
    given = [lane.switch() for lane in lanes]
    while not all(lane.dead for lane in lanes):
        assert not any(lane.dead for lane in lanes)
        given = [lane.switch(given) for lane in lanes]


def run(kernel, memory, args, blocks, threads):
    """The sum that a kernel makes, from fields in ``memory`` (elements,), at iteration 0."""
    total, index = [Fraction()], [0]

    def add(words, bins):
        total[0] += sum(int(part) * Fraction(2) ** (TOP_BIT - BIN_BITS * k) for k, part in enumerate(in_units(bins)))

    scope = {
        "load": lambda at, i: float(memory[at // ITEM + i]),
        "store": lambda at, i, value: memory.__setitem__(at // ITEM + i, value),
        "product": lambda x, y: x * y, "real": float, "prefetch": lambda at: None, "anew": lambda at: at,
        "block": lambda: index[0], "blocks": lambda: blocks, "cuda": Cuda(),
    }  # fmt: skip
    made = {
        now_of: lambda s, ahead: Now(0, 0.75, 0.5, True), read_sum: lambda words: 3.0,
        add_to_words: add, mark: lambda *args: None,
    }  # fmt: skip
    bound = bind(kernel, scope, lambda function: function, scope, made=made)
    for index[0] in range(blocks):
        if threads == 1:
            bound(0, *args)
        for first in range(0, threads if threads > 1 else 0, LANES):
            run_warp(first, lambda: bound(0, *args))
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
