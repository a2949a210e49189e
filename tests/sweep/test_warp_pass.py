"""A pass of a GPU's warps, executed in NumPy, against NumPy's sweeps, bit for bit."""

from random import Random

import numpy as np
import pytest
from gpu_code import frame_bytes, ptx_of
from lanes import Warp
from sweep_reference import FORMULAS
from test_host_pass import some_box, swept, whole

from pennympi.arrays.dtypes import TABLE
from pennympi.cuda.sweep import pass_kernel
from pennympi.cuda.sweep.rows import kept_columns, origin_of
from pennympi.cuda.sweep.warp import LANE_BYTES
from pennympi.kernels.sweep.norm import LEVEL_BYTES
from pennympi.kernels.sweep.records import Box, Cut, SweepFields

LINE_BYTES, WORDS_AT = 64, 1 << 40
NOTHING = np.full(8, 0xFF, np.uint8)  # NaN


class Memory:
    """Fields in padded rows, with a row more before the first and after the last one, and the formula's numbers."""

    def __init__(self, shape, dtype, lead, numbers):
        item_bytes = np.dtype(dtype).itemsize
        self.pitch = -(-(lead + shape[-1]) * item_bytes // LINE_BYTES) * LINE_BYTES // item_bytes
        self._shape, self._lead, self._rows = shape, lead, shape[-2] + 2
        self._field_bytes = self._rows * self.pitch * item_bytes
        self.bytes = np.tile(NOTHING, (LINE_BYTES + 3 * self._field_bytes) // 8)
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


def some_pass(random, stencil, depth, group):
    """(shape, live, box, own, inner) of a part of a grid that has ends on all sides, or neighbours.

    inner: the points that the sweeps of the whole array change
    group: of as many points no box has a part, but for the grid's last ones
    """
    n_dims, ends = stencil.n_dims, random.random() < 0.5
    least = 3 if ends else 2 * depth + 1
    columns = least + random.randint(0, random.choice([20, 300, 900]))
    shape = (1, random.randint(least, least + 40) if n_dims == 2 else 1, columns)
    inner = whole(shape)
    live = inner if ends else shrunk(inner, n_dims, -1)
    own = live if ends else shrunk(live, n_dims, depth)
    box = own if random.random() < 0.5 else some_box(random, own)
    first = own.z0 + (box.z0 - own.z0) // group * group
    return shape, live, box._replace(z0=first, z1=min(own.z1, first - (first - box.z1) // group * group)), own, inner


def values_of(changes):
    """The values of the groups of changes (rows, columns), of which the first ones are the first of a group."""
    n = LANE_BYTES // changes.itemsize
    x = np.pad(changes, [(0, 0), (0, -changes.shape[1] % n)]).reshape(-1, 2, n // 2)
    half = x[..., 0] * x[..., 0]
    for k in range(1, n // 2):
        half = x[..., k] * x[..., k] + half
    return half[:, 0] + half[:, 1]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("case", [case for case in FORMULAS if "3" not in case])
def test_pass(case, dtype):
    stencil, numbers, random = FORMULAS[case].stencil(dtype), FORMULAS[case].numbers, Random(f"{case} {dtype}")
    n_dims = stencil.n_dims
    for _ in range(25):
        depth, norms, chunk = random.randint(1, 8), random.choice(["none", "last", "every"]), random.choice([1, 3, 6, 50])
        group = 1 if norms == "none" else LANE_BYTES // stencil.item_bytes
        shape, live, box, own, inner = some_pass(random, stencil, depth, group)
        draw = np.random.default_rng(random.randrange(1 << 30))
        old, coefficient = draw.random(shape).astype(dtype), draw.random(shape).astype(dtype)
        lead = -own.z0 % (LINE_BYTES // stencil.item_bytes)
        memory = Memory(shape, dtype, lead, numbers)
        memory.view(1)[:], memory.view(2)[:] = old[0], coefficient[0]
        before = memory.bytes.copy()
        across = -(-(box.z1 - origin_of(stencil, box, lead)) // kept_columns(stencil, depth))
        warps = across * -(-(box.y1 - box.y0) // chunk) if n_dims == 2 else -(-across // chunk)
        warp = Warp(memory.bytes, dtype)
        end = live.z1 + lead if live == inner else -1
        fields = SweepFields(*map(memory.address, range(3)), 0, memory.pitch)
        warp.run(pass_kernel(stencil, depth, norms, end).kernel, warps, fields, box, live, Cut(chunk, lead), 0, WORDS_AT)

        levels = swept(stencil, old, coefficient, numbers, depth, inner)
        inside = tuple(slice(box[2 * d], box[2 * d + 1]) for d in range(3))
        new = memory.view(0)[inside[1:]]
        assert new.tobytes() == levels[-1][inside].tobytes(), (depth, shape, box, live)
        new[:] = NOTHING.view(dtype)[0]
        np.testing.assert_array_equal(memory.bytes, before)  # nothing else was written
        n_levels = {"none": 0, "last": 1, "every": depth}[norms]
        assert len(warp.values) == n_levels
        for level in range(n_levels):
            was, is_now = levels[depth - n_levels + level :][:2]
            found, right = (
                np.concatenate(warp.values[WORDS_AT + level * LEVEL_BYTES]),
                values_of((is_now - was)[inside][0]),
            )
            assert np.array_equal(*(np.sort(x[x != 0]) for x in (found, right)))


@pytest.mark.parametrize(
    ("case", "depth", "norms"), [("1-D", 3, "last"), ("2-D", 8, "every"), ("2-D with coefficient", 6, "none")]
)
def test_registers(case, depth, norms):
    """The machine code keeps nearly all in registers, and rounds each product before it is added."""
    made = pass_kernel(FORMULAS[case].stencil("float32"), depth, norms, 21)
    code = ptx_of(made.kernel, elements=TABLE["float32"], bounds=made.bounds, fused=False)
    copies, levels = 2 if case == "1-D" else 4, {"none": 0, "last": 1, "every": depth}[norms]
    assert code.count("fma.rn.f32") == copies * levels * 6 and ".local" not in code  # a group takes 6
    assert frame_bytes(code) <= 128
