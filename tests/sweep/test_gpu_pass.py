"""The kernels of passes on a GPU, run in NumPy, against plain sweeps, bit for bit; and their machine code."""

from random import Random
from unittest.mock import patch

import numpy as np
import pytest
from gpu_code import frame_bytes, ptx_of
from sweep_reference import FORMULAS, group_values
from test_host_pass import some_box, swept, whole
from threads import Threads

from pennympi.arrays.dtypes import TABLE
from pennympi.compile.pass_kernel import PassLaunch, Storage
from pennympi.kernels.sweep.norm import LEVEL_BYTES, group_points
from pennympi.kernels.sweep.records import Box, Cut, Pass, SweepFields
from pennympi.stencil.on_gpu.chunks import cut_into_chunks
from pennympi.stencil.on_gpu.march import cutting
from pennympi.stencil.on_gpu.march.rows import NO_WALL, March, first_column
from pennympi.stencil.on_gpu.passes import pass_kernel

LINE_BYTES = 64
ALONE = Box(0, 0, 0, 0, 0, 0)  # no bound has a neighbour
WRITTEN = 7  # contents of the new field before a pass
both_dtypes = pytest.mark.parametrize("dtype", ["float32", "float64"])


class Fields:
    """Fields (new, old, coefficient) in one memory, with rows as of ``Grid.zeros`` and NaN elsewhere; and numbers.

    lead:    number of elements of a row before its first point;  numbers: address of the numbers
    record:  the argument of kernels
    """

    def __init__(self, old, coefficient, halo, numbers):
        shape, self.dtype = old.shape, old.dtype
        line = LINE_BYTES // old.itemsize
        self.lead = -halo % line
        row = -(-(self.lead + shape[2]) // line) * line
        n = 3 * (shape[0] * shape[1] + 2) * row
        elements = np.concatenate([np.full(n, np.nan), numbers]).astype(old.dtype)
        self.memory, self.numbers = elements.view("u1"), n * old.itemsize
        inside = elements[:n].reshape(3, -1, row)[:, 1:-1]
        self.views = inside.reshape(3, *shape[:2], row)[..., self.lead : self.lead + shape[2]]
        self.views[:] = np.full(shape, WRITTEN), old, coefficient
        addresses = [view.ctypes.data - self.memory.ctypes.data for view in self.views]
        self.record = SweepFields(*addresses, row * shape[1], row)


def check(stencil, numbers, kernel, launch, arrays, halo, boxes, inner, depth, norms, sides=ALONE):
    """A pass from arrays (old, coefficient) changes the points of ``box`` as plain sweeps of ``inner``, and no other.

    Blocks that don't wait for the halos at ``sides`` run before these arrive, when they are NaN.
    """
    fields, (box, live), emulated = Fields(*arrays, halo, numbers), boxes, Threads(stencil.dtype)
    before, (blocks, threads, cut, n_waiting, first, _) = fields.memory.copy(), launch(fields)
    call = Pass(fields.record, box, live, cut, fields.numbers, 0, 0)
    for d in range(3):
        old = np.moveaxis(fields.views[1], d, 0)
        old[: box[2 * d] * sides[2 * d]] = np.nan
        old[box[2 * d + 1] if sides[2 * d + 1] else len(old) :] = np.nan
    order = range(np.prod(blocks))
    emulated.run(kernel, blocks, threads, fields.memory, (call,), [*order[:first], *order[first + n_waiting :]])
    fields.views[1] = arrays[0]
    emulated.run(kernel, blocks, threads, fields.memory, (call,), order[first : first + n_waiting])
    levels = swept(stencil, *arrays, numbers, depth, inner)
    inside = tuple(slice(box[2 * d], box[2 * d + 1]) for d in range(3))
    np.testing.assert_array_equal(fields.views[0][inside], levels[-1][inside])
    fields.views[0][inside] = WRITTEN
    assert fields.memory.tobytes() == before.tobytes(), "written outside of the box"
    n_levels = {"none": 0, "last": 1, "every": depth}[norms]
    assert len(emulated.values) == n_levels
    for k, s in enumerate(range(depth - n_levels + 1, depth + 1)):
        added = np.concatenate([np.ravel(values) for values in emulated.values[k * LEVEL_BYTES]])
        wanted = group_values((levels[s] - levels[s - 1])[inside]).ravel()
        np.testing.assert_array_equal(np.sort(added[added != 0]), np.sort(wanted[wanted != 0]))


def drawn(random, shape, dtype):
    draw = np.random.default_rng(random.randrange(1 << 30))
    return draw.random(shape).astype(dtype), draw.random(shape).astype(dtype)


def of_groups(random, box, n):
    """A random part of a box in z, cut between groups of n points.  The first group begins at z = 1."""
    first = 1 + n * random.randint(0, (box.z1 - 2) // n)
    return box._replace(z0=first, z1=min(first + n * random.randint(1, 40), box.z1))


@both_dtypes
@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("case", ["3-D", "3-D with all"])
def test_cubes(case, depth, dtype):
    stencil, numbers = FORMULAS[case].stencil(dtype), FORMULAS[case].numbers
    random = Random(f"{case} {depth} {dtype}")
    for norms in ("none", "none", "none", "last", "every"):
        kernel = pass_kernel(stencil, depth, norms, -1, False)
        shape = (random.randint(3, 12), random.randint(3, 90), random.choice([3, 4, 70, 140]) + random.randint(0, 9))
        live = whole(shape) if random.random() < 0.5 else some_box(random, whole(shape))
        box = live if random.random() < 0.5 else some_box(random, live)
        halo = random.randint(1, depth)
        if norms != "none":
            live, halo = live._replace(z0=1), 1
            box = of_groups(random, box._replace(z1=live.z1), group_points(stencil.item_bytes))

        def launch(fields, kernel=kernel, box=box):
            return kernel.launch(box, ALONE, Storage(fields.lead, fields.record.plane, fields.record.row, 3))

        arrays = drawn(random, shape, dtype)
        check(stencil, numbers, kernel.kernel, launch, arrays, halo, (box, live), live, depth, norms)


def shrunk(box, n_dims, by):
    """A box without ``by`` points on each side."""
    return Box(*(edge + (by if k % 2 == 0 else -by) * (k >= 6 - 2 * n_dims) for k, edge in enumerate(box)))


def some_pass(random, stencil, depth, group):
    """(shape, live, box, own, inner) of a part of a grid with ends on all sides, or with neighbours on all sides.

    inner: the points that sweeps of the whole array change
    group: number of points of a group; the box splits no group, except the last group of the grid
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


@both_dtypes
@pytest.mark.parametrize("case", [case for case in FORMULAS if "3" not in case])
def test_warps(case, dtype):
    stencil, numbers, random = FORMULAS[case].stencil(dtype), FORMULAS[case].numbers, Random(f"{case} {dtype}")
    for _ in range(12):
        depth, norms, chunk = random.randint(1, 8), random.choice(["none", "last", "every"]), random.choice([1, 3, 6, 50])
        group = 1 if norms == "none" else group_points(stencil.item_bytes)
        shape, live, box, own, inner = some_pass(random, stencil, depth, group)

        def launch(fields, depth=depth, chunk=chunk, box=box):
            march = March(stencil, depth, "none", NO_WALL)
            across = -(-(box.z1 - first_column(march.width, box, fields.lead)) // march.keeps)
            if stencil.n_dims == 1:
                return PassLaunch(-(-across // chunk), 32, Cut(chunk, fields.lead), 0)
            cut, _ = cut_into_chunks(box.y1 - box.y0, chunk, fields.lead, depth, (0, 0))
            return PassLaunch(across * cut.n_chunks, 32, cut, 0)

        end = live.z1 + -own.z0 % (LINE_BYTES // stencil.item_bytes) if live == inner else -1
        kernel, arrays = pass_kernel(stencil, depth, norms, end, False).kernel, drawn(random, shape, dtype)
        check(stencil, numbers, kernel, launch, arrays, own.z0, (box, live), inner, depth, norms)


def some_part(random, stencil, depth, sides):
    """(shape, own, live, inner) of a part of a grid with neighbours at some sides."""
    unused, most = 6 - 2 * stencil.n_dims, (40, 30, 800 if stencil.n_dims == 2 else 400)
    shape = tuple(2 * depth + random.randint(1, most[d]) if 2 * d >= unused else 1 for d in range(3))
    own = shrunk(whole(shape), stencil.n_dims, depth - 1)
    live, inner = (
        Box(*(edge + (1, -1)[k % 2] * -by * sides[k] for k, edge in enumerate(own))) for by in (depth, depth - 1)
    )
    return shape, own, live, inner


@both_dtypes
@pytest.mark.parametrize("case", [case for case in FORMULAS if "1" not in case])  # of one dimension, all blocks wait
def test_blocks_that_do_not_wait_read_no_halo(case, dtype):
    stencil, numbers, random = FORMULAS[case].stencil(dtype), FORMULAS[case].numbers, Random(f"{case} {dtype}")
    of_last = [(0, 0), (0, 1), (1, 0), (1, 1)] * 3 if stencil.n_dims == 2 else [(0, 0)] * 4 + [(0, 1), (1, 1)]
    for z0, z1 in of_last:
        first = [int(random.random() < 0.7) for _ in range(2)]
        sides = Box(0, 0, *first, z0, z1) if stencil.n_dims == 2 else Box(*first, z0, z1, 0, z1)
        depth, chunk = random.randint(1, 3), random.choice([3, 6, 20])
        shape, own, live, inner = some_part(random, stencil, depth, sides)
        end = -1 if sides.z1 else own.z1 + -own.z0 % (LINE_BYTES // stencil.item_bytes)
        kernel, wait = pass_kernel(stencil, depth, "none", end, True), random.randint(0, 20)

        def launch(fields, kernel=kernel, chunk=chunk, wait=wait, sides=sides, own=own):
            storage = Storage(fields.lead, fields.record.plane, fields.record.row, random.choice([1, 3, 30]))
            warps = {"WARPS": 1, "THREADS": 32}  # as in ``Threads``
            with patch.multiple(cutting, **warps, WAIT_ROWS=wait, chunk_rows=lambda *_: chunk):
                return kernel.launch(own, sides, storage)

        arrays = drawn(random, shape, dtype)
        check(stencil, numbers, kernel.kernel, launch, arrays, own.z0, (own, live), inner, depth, "none", sides)


@pytest.mark.parametrize(
    ("case", "dtype", "depth", "norms", "frame"),
    [
        ("1-D", "float32", 3, "last", 128),
        ("2-D", "float32", 3, "every", 128),
        pytest.param("2-D", "float32", 8, "every", 128, marks=pytest.mark.slow),
        ("2-D with coefficient", "float32", 6, "none", 128),
        ("3-D", "float32", 1, "none", 16),
        ("3-D", "float64", 2, "none", 16),
        ("3-D", "float32", 3, "none", 16),
        pytest.param("3-D", "float64", 3, "none", 16, marks=pytest.mark.slow),
    ],
)
def test_registers(case, dtype, depth, norms, frame):
    """The machine code keeps nearly all in registers, and rounds each product before it is added."""
    kernel = pass_kernel(FORMULAS[case].stencil(dtype), depth, norms, 21, False)
    options = {"bounds": kernel.bounds, "fused": False, "shared_bytes": kernel.shared_bytes}
    code = ptx_of(kernel.kernel, elements=TABLE[dtype], **options)
    copies, levels = 2 if case == "1-D" else 4, {"none": 0, "last": 1, "every": depth}[norms]
    assert code.count("fma.rn.f") == copies * levels * 6 and ".local" not in code  # 6 instructions a group
    assert ("cp.async.cg" in code) == (case == "3-D" and depth > 1)
    assert frame_bytes(code) <= frame
