"""Passes of a GPU over boxes of three dimensions, executed in NumPy, against plain sweeps."""

from random import Random

import numpy as np
import pytest
from gpu_code import frame_bytes, ptx_of
from sweep_reference import FORMULAS, group_values
from test_host_pass import some_box, swept, whole
from threads import Threads

from pennympi.arrays.dtypes import TABLE
from pennympi.compile.pass_kernel import Storage
from pennympi.cuda.sweep.cube import pass_kernel
from pennympi.kernels.sweep.norm import LEVEL_BYTES, group_points
from pennympi.kernels.sweep.records import SweepFields

LINE_BYTES = 64


class Fields:
    """Fields (new, old, coefficient) of a shape in one memory, with rows as ``Grid.zeros`` makes them, NaN elsewhere."""

    def __init__(self, dtype, shape, halo, arrays):
        self.dtype = np.dtype(dtype)
        line = LINE_BYTES // self.dtype.itemsize
        self.lead = -halo % line
        self.row = -(-(self.lead + shape[2]) // line) * line
        rows = shape[0] * shape[1] + 2
        self.memory = np.full(len(arrays) * rows * self.row, np.nan, self.dtype).view("u1")
        elements = self.memory.view(self.dtype).reshape(len(arrays), rows, self.row)
        self.views = []
        for storage, array in zip(elements, arrays, strict=True):
            view = storage[1:-1].reshape(*shape[:2], self.row)[..., self.lead : self.lead + shape[2]]
            view[...] = array
            self.views.append(view)
        start = self.memory.ctypes.data
        addresses = [view.ctypes.data - start for view in self.views]
        self.record = SweepFields(*addresses, self.row * shape[1], self.row)


def by_threads(stencil, made, fields, box, live, numbers):
    """Run a pass; the values of groups by their words."""
    blocks, threads, cut = made.launch(box, Storage(fields.lead, fields.record.plane, fields.record.row, 3))
    tail = np.array(numbers, stencil.dtype).view("u1")
    memory = np.concatenate([fields.memory, tail])
    emulated = Threads(memory, stencil.dtype)
    emulated._run(made.kernel, blocks, threads, (fields.record, box, live, cut, len(fields.memory), 0, 0))
    fields.memory[:] = memory[: len(fields.memory)]
    return emulated.values


def of_groups(random, box, n):
    """The box from a group of n points on, up to another one or to its own end, where the first group begins at z = 1."""
    first = 1 + n * random.randint(0, (box.z1 - 2) // n)
    return box._replace(z0=first, z1=min(first + n * random.randint(1, 40), box.z1))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("case", ["3-D", "3-D with all"])
def test_pass(case, depth, dtype):
    stencil, numbers = FORMULAS[case].stencil(dtype), FORMULAS[case].numbers
    random = Random(f"{case} {depth} {dtype}")
    for norms in ("none", "none", "none", "last", "every"):
        made = pass_kernel(stencil, depth, norms)
        shape = (random.randint(3, 12), random.randint(3, 90), random.choice([3, 4, 70, 140]) + random.randint(0, 9))
        draw = np.random.default_rng(random.randrange(1 << 30))
        arrays = [np.full(shape, 7, dtype), draw.random(shape).astype(dtype), draw.random(shape).astype(dtype)]
        live = whole(shape) if random.random() < 0.5 else some_box(random, whole(shape))
        box = live if random.random() < 0.5 else some_box(random, live)
        halo = random.randint(1, depth)
        if norms != "none":
            live, halo = live._replace(z0=1), 1
            box = of_groups(random, box._replace(z1=live.z1), group_points(stencil.item_bytes))
        levels = swept(stencil, *arrays[1:], numbers, depth, live)
        fields = Fields(dtype, shape, halo, arrays)
        before = fields.memory.copy()
        values = by_threads(stencil, made, fields, box, live, numbers)
        inside = tuple(slice(box[2 * d], box[2 * d + 1]) for d in range(3))
        np.testing.assert_array_equal(fields.views[0][inside], levels[-1][inside])
        fields.views[0][inside] = 7
        assert fields.memory.tobytes() == before.tobytes(), "written outside of the box"
        n_levels = {"none": 0, "last": 1, "every": depth}[norms]
        assert len(values) == n_levels
        for k, s in enumerate(range(depth - n_levels + 1, depth + 1)):
            found = np.concatenate([np.ravel(one) for one in values[k * LEVEL_BYTES]])
            wanted = group_values((levels[s] - levels[s - 1])[inside]).ravel()
            np.testing.assert_array_equal(np.sort(found[found != 0]), np.sort(wanted[wanted != 0]))


@pytest.mark.parametrize(("depth", "dtype"), [(1, "float32"), (2, "float64"), (3, "float32"), (3, "float64")])
def test_registers(depth, dtype):
    """The machine code keeps nearly all in registers, and rounds each product before it is added."""
    made = pass_kernel(FORMULAS["3-D"].stencil(dtype), depth, "none")
    options = {"bounds": made.bounds, "fused": False, "shared_bytes": made.shared_bytes}
    code = ptx_of(made.kernel, elements=TABLE[dtype], **options)
    assert "fma.rn.f" not in code and ".local" not in code
    assert ("cp.async.cg" in code) == (depth > 1)
    assert frame_bytes(code) <= 16  # some compilers need none
