"""A pass of a GPU's warps, executed in NumPy, against NumPy's sweeps, bit for bit."""

from math import fsum
from random import Random

import numpy as np
import pytest
from lanes import Warp
from test_host_pass import CASES, some_box, swept, whole

from pennympi.cuda.sweep import line, march
from pennympi.kernels.sweep.formula import Stencil
from pennympi.kernels.sweep.norm import LEVEL_BYTES
from pennympi.kernels.sweep.records import Box, Cut, SweepFields

LINE_BYTES, WORDS_AT = 64, 1 << 40


class Memory:
    """Fields in padded rows, with a row more before the first and after the last one, and the formula's numbers."""

    def __init__(self, shape, dtype, lead, numbers):
        item_bytes = np.dtype(dtype).itemsize
        self.pitch = -(-(lead + shape[-1]) * item_bytes // LINE_BYTES) * LINE_BYTES // item_bytes
        self._shape, self._lead, self._rows = shape, lead, shape[-2] + 2
        self._field_bytes = self._rows * self.pitch * item_bytes
        self.bytes = np.full(LINE_BYTES + 3 * self._field_bytes, 0xFF, np.uint8)  # NaN
        self.bytes[: 8 * item_bytes].view(dtype)[: len(numbers)] = numbers
        self._item_bytes, self._dtype = item_bytes, dtype

    def address(self, which):
        """Of the element (0, 0) of a field."""
        return LINE_BYTES + which * self._field_bytes + (self.pitch + self._lead) * self._item_bytes

    def view(self, which):
        """A field with its halo, (ny, nz)."""
        start = LINE_BYTES + which * self._field_bytes
        rows = self.bytes[start : start + self._field_bytes].view(self._dtype).reshape(self._rows, self.pitch)
        return rows[1:-1, self._lead : self._lead + self._shape[-1]]


def shrunk(box, n_dims, by):
    """A box without ``by`` points on each side."""
    return Box(*(edge + (by if k % 2 == 0 else -by) * (k >= 6 - 2 * n_dims) for k, edge in enumerate(box)))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("formula", "n_dims", "n_args"), [case for case in CASES if case[1] < 3])
def test_pass(formula, n_dims, n_args, dtype):
    stencil, numbers = Stencil(formula, n_dims, dtype, n_args, n_args > 0), (0.1, 1.01)[:n_args]
    random = Random(f"{formula.__name__} {dtype}")
    kernel_of = {1: line.march, 2: march.march}[n_dims]
    for _ in range(25):
        depth, norms = random.randint(1, 8), random.choice(["none", "last", "every"])
        ends = random.random() < 0.5 # of the grid, on all sides; else there are neighbours
        least = 3 if ends else 2 * depth + 1
        shape = (random.randint(least, least + 40) if n_dims == 2 else 1, random.randint(least, random.choice([20, 300, 900]) + least))
        draw = np.random.default_rng(random.randrange(1 << 30))
        old, coefficient = draw.random((1, *shape)).astype(dtype), draw.random((1, *shape)).astype(dtype)
        live = whole((1, *shape))
        if not ends:
            live = Box(*(edge + ((-1, 1)[k % 2]) * (k >= 6 - 2 * n_dims) for k, edge in enumerate(live)))
        own = live if ends else shrunk(live, n_dims, depth)
        box = own if random.random() < 0.5 else some_box(random, own)
        lead = -own.z0 % (LINE_BYTES // stencil.item_bytes)
        memory = Memory(shape, dtype, lead, numbers)
        memory.view(1)[:], memory.view(2)[:] = old[0], coefficient[0]
        before = memory.bytes.copy()
        chunk = random.choice([1, 3, 6, 50])
        keeps = march.kept_columns(stencil, depth)
        across = -(-(box.z1 - box.z0 + 7) // keeps)
        blocks = across * -(-(box.y1 - box.y0) // chunk) if n_dims == 2 else across
        warp = Warp(memory.bytes, dtype)
        fields = SweepFields(memory.address(0), memory.address(1), memory.address(2), 0, memory.pitch)
        warp.run(kernel_of(stencil, depth, norms), blocks, fields, box, live, Cut(chunk, lead), 0, WORDS_AT)
        inner = shrunk(live, n_dims, 0 if ends else 1)
        levels = swept_within(stencil, old, coefficient, numbers, depth, inner)
        inside = tuple(slice(box[2 * d], box[2 * d + 1]) for d in range(3))
        assert memory.view(0)[inside[1:]].tobytes() == levels[-1][inside][0].tobytes(), (depth, shape, box, live)
        memory.view(0)[inside[1:]].view("u1")[:] = 0xFF
        np.testing.assert_array_equal(memory.bytes, before)  # nothing else was written
        n_levels = {"none": 0, "last": 1, "every": depth}[norms]
        assert len(warp.changes) == n_levels
        for level, s in enumerate(range(depth - n_levels + 1, depth + 1)):
            changes = (levels[s][inside] - levels[s - 1][inside]).astype("float64")
            found = np.concatenate(warp.changes[WORDS_AT + level * LEVEL_BYTES]).astype("float64")
            assert fsum(found**2) == fsum(changes.ravel() ** 2)


def swept_within(stencil, old, coefficient, numbers, depth, live):
    """``swept``, where neighbours' points may lie at the ends of the array."""
    return swept(stencil, old, coefficient, numbers, depth, live)
