"""A pass of a sweep on a CPU against NumPy, bit for bit."""

from random import Random

import numpy as np
import pytest
from sweep_reference import FORMULAS, group_values, stepped, words_of

from pennympi.arrays.dtypes import TABLE
from pennympi.compile import context as ctx_words
from pennympi.compile.bind import parameters
from pennympi.compile.pass_kernel import Storage
from pennympi.host.runtime.compile import compiled
from pennympi.kernels.in_kernel.exact import WORDS, SumWords
from pennympi.kernels.sweep.norm import window_words
from pennympi.kernels.sweep.records import Box
from pennympi.stencil.on_cpu import pass_kernel


def swept(stencil, old, coefficient, numbers, depth, live):
    """The levels 0 .. depth of old (nx, ny, nz): plain sweeps of all live points, by NumPy."""
    inside, levels = tuple(slice(*bounds) for bounds in zip(live[::2], live[1::2], strict=True)), [old]
    for _ in range(depth):
        levels.append(levels[-1].copy())
        coefficients = coefficient[inside] if stencil.has_coefficient else None
        levels[-1][inside] = stepped(stencil.formula, stencil.dtype, levels[-2], inside, numbers, coefficients)
    return levels


def run(kernel, stencil, fields, box, live, numbers, words):
    """Run a pass as a launch does."""
    new, old, coefficient = fields
    own = np.zeros(1, np.int64)
    ctx = np.zeros(ctx_words.PEER_OFFSETS + 1, np.int64)
    ctx[ctx_words.OWN_ALIVE] = own.ctypes.data
    scratch = np.full(kernel.scratch_bytes + 64, 0xFF, np.uint8)
    values = np.array(numbers, stencil.dtype)
    plane, row = (n // old.itemsize for n in old.strides[:2])
    blocks, _, cut, *_ = kernel.launch(box, Box(0, 0, 0, 0, 0, 0), Storage(0, plane, row, 1))
    machine_code = compiled(kernel.kernel, TABLE[stencil.dtype], "i" * (len(parameters(kernel.kernel)) - 1))
    fields = new.ctypes.data, old.ctypes.data, coefficient.ctypes.data if stencil.has_coefficient else 0, plane, row
    addresses = values.ctypes.data, words.ctypes.data, -(-scratch.ctypes.data // 64) * 64
    machine_code(blocks, ctx.ctypes.data, *fields, *box, *live, *cut, *addresses)


def padded(shape, dtype, random):
    """Random numbers (nx, ny, nz): a view with padded rows, as grids make them, with NaN in the padding."""
    line = 64 // np.dtype(dtype).itemsize
    lead, pitch = line - 1, -(-(line - 1 + shape[2]) // line) * line
    rows, draw = shape[0] * shape[1], np.random.default_rng(random.randrange(1 << 30))
    storage = np.full((rows + 4, pitch), np.nan, dtype)
    skipped = -storage.ctypes.data % 64 // storage.itemsize
    start = 2 * pitch + skipped + lead
    view = np.lib.stride_tricks.as_strided(
        storage.reshape(-1)[start:], shape, tuple(n * storage.itemsize for n in (shape[1] * pitch, pitch, 1))
    )
    view[...] = draw.random(shape) * draw.choice([1, 1e-3, 1e-6, 0], shape)
    return view


def whole(shape):
    """All points that have neighbours on all sides."""
    return Box(*(edge for n in shape for edge in ((1, n - 1) if n > 1 else (0, 1))))


def some_box(random, inside):
    """A random box inside ``inside``."""
    bounds = []
    for first, stop in zip(inside[::2], inside[1::2], strict=True):
        low = random.randint(first, stop - 1)
        bounds += [low, random.randint(low + 1, stop)]
    return Box(*bounds)


@pytest.mark.parametrize("case", FORMULAS)
def test_pass(case):
    stencil, numbers, random = FORMULAS[case].stencil(), FORMULAS[case].numbers, Random(case)
    n_dims, dtype = stencil.n_dims, stencil.dtype
    for _ in range(24):
        depth, norms = random.choice([1, 2, 3, 4, 5, 17]), random.choice(["none", "last", "every"])
        kernel = pass_kernel(stencil, depth, norms, -1, False)
        shape = (1,) * (3 - n_dims) + tuple(random.randint(3, {1: 40000, 2: 200, 3: 80}[n_dims]) for _ in range(n_dims))
        if n_dims > 1 and random.random() < 0.3:
            shape = (*shape[:-2], random.randint(3, 9), random.choice([600, 9000]))
        old, coefficient, new = (padded(shape, dtype, random) for _ in range(3))
        live = whole(shape) if random.random() < 0.5 else some_box(random, whole(shape))
        box = live if random.random() < 0.3 else some_box(random, live)
        levels = swept(stencil, old, coefficient, numbers, depth, live)
        n_levels, wanted = {"none": 0, "last": 1, "every": depth}[norms], new.copy()
        words = np.zeros((max(n_levels, 1), 8, WORDS), np.int64)
        run(kernel, stencil, (new, old, coefficient), box, live, numbers, words)
        inside = tuple(slice(box[2 * d], box[2 * d + 1]) for d in range(3))
        wanted[inside] = levels[-1][inside]
        np.testing.assert_array_equal(new, wanted)
        for level, s in enumerate(range(depth - n_levels + 1, depth + 1)):
            sums = SumWords(*words[level].sum(axis=0).tolist()[:-1])
            assert window_words(sums) == words_of(group_values(levels[s][inside] - levels[s - 1][inside]))
