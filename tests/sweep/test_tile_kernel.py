"""The resident kernel of a GPU, with the blocks of several PEs in Python, against NumPy's sweeps, bit for bit."""

import re

import numpy as np
import pytest
from gpu_code import ptx_of
from sweep_reference import diffuse_2d, laplace, swept

from pennympi.arrays.dtypes import TABLE
from pennympi.kernels.in_kernel.exact import WORDS, SumWords
from pennympi.kernels.sweep.formula import Stencil
from pennympi.kernels.sweep.norm import COPIES, LEVEL_BYTES, norm_of
from pennympi.kernels.sweep.records import SweepFields
from pennympi.stencil.grid.decomposition import Decomposition
from pennympi.stencil.on_gpu.tile import tile_shape
from pennympi.stencil.on_gpu.tile.tile import resident, tiles_of

pytest.importorskip("greenlet")
from greenlets import LANES, PE_BYTES, Blocks, Memory

LINE_BYTES, RATE = 64, 0.1
CASES = [  # points, PEs, periodic, depth, blocks of a PE, warps of a block, sweeps of each launch, dtype, norms
    ((9, 150), (1, 1), (True, False), 1, 4, 4, (2, 1), "float32", "every"),
    ((9, 150), (1, 1), (True, True), 1, 2, 5, (2,), "float64", "every"),
    ((9, 45), (1, 1), (True, False), 2, 1, 3, (3,), "float32", "every"),
    ((9, 45), (2, 2), (True, False), 2, 1, 3, (3,), "float32", "every"),
    ((9, 45), (1, 3), (True, False), 1, 1, 4, (3,), "float32", "last"),
    ((8, 30), (2, 1), (False, True), 2, 2, 4, (3,), "float64", "every"),
    ((8, 30), (1, 2), (False, True), 1, 2, 5, (3,), "float64", "every"),
    ((11, 26), (1, 1), (False, False), 5, 1, 7, (6,), "float32", "every"),
    ((11, 26), (2, 1), (True, True), 1, 2, 3, (2, 2), "float64", "last"),
]


@pytest.mark.parametrize("points, pes, periodic, depth, blocks, warps, counts, dtype, norms", CASES)
def test_tile_kernel(monkeypatch, points, pes, periodic, depth, blocks, warps, counts, dtype, norms):
    monkeypatch.setattr(tile_shape, "WARPS", warps)
    n_pes, item_bytes, levels = int(np.prod(pes)), np.dtype(dtype).itemsize, max(counts)
    parts = Decomposition(points, pes, periodic, (1, 1), tuple(range(n_pes)))
    has_coefficient = points[0] == 11
    stencil = Stencil(diffuse_2d if has_coefficient else laplace, 2, dtype, int(has_coefficient), has_coefficient)
    whole = np.random.default_rng(1).random(tuple(n + 2 for n in points)).astype(dtype)
    rates = np.random.default_rng(2).random(points).astype(dtype) if has_coefficient else None
    memory, memories = np.zeros(n_pes * PE_BYTES, np.uint8), []
    lead, pitch = -item_bytes % LINE_BYTES // item_bytes, -(-(points[1] + 2) // 16) * 16 + 16
    for pe in range(n_pes):
        own, (rows, columns), (row, column) = Memory(memory, pe, n_pes), parts.own(pe), parts.first(pe)
        own.launch = resident(stencil, parts, pe, depth, norms, blocks)
        inbox = own.room(own.launch.inbox_bytes)  # first, because the inbox is symmetric and the fields differ in size
        own.points = slice(1, rows + 1), slice(lead + 1, lead + columns + 1)
        own.fields = [own.view(own.room((rows + 2) * pitch * item_bytes), (rows + 2, pitch), dtype) for _ in range(3)]
        for field in own.fields[:2]:
            field[:, lead : lead + columns + 2] = whole[row : row + rows + 2, column : column + columns + 2]
        if has_coefficient:
            own.fields[2][own.points] = rates[row : row + rows, column : column + columns]
        own.table = own.keep(np.array(own.launch.tables(inbox, [(k - pe) * PE_BYTES for k in range(n_pes)])))
        own.values, own.norms = own.keep(np.array([RATE], dtype)), own.room(levels * LEVEL_BYTES)
        memories.append(own)
    for sweeps in counts:
        launches = []
        for own in memories:
            own.view(own.norms, (levels * LEVEL_BYTES,), np.uint8)[:] = 0
            u, v, coefficient = (field.ctypes.data - memory.ctypes.data + lead * item_bytes for field in own.fields)
            args = own.ctx, SweepFields(v, u, coefficient, 0, pitch), own.table, own.values, own.norms, sweeps
            launch = own.launch
            launches.append((launch.kernel, launch.blocks, launch.threads, launch.shared_bytes, args))
        Blocks(memory, dtype).run(launches)
        inner = (slice(1, -1),) * 2
        whole[inner], wanted = swept(stencil.formula, whole, periodic, sweeps, (RATE,) * has_coefficient, rates)
        for pe, own in enumerate(memories):
            part = tuple(slice(first, first + n) for first, n in zip(parts.first(pe), parts.own(pe), strict=True))
            assert (own.fields[1][own.points] == whole[inner][part]).all()
            own.fields[0][own.points] = own.fields[1][own.points]
        added = sum(own.view(own.norms, (levels, COPIES, WORDS), np.int64).sum(1) for own in memories)
        computed = [norm_of(SumWords(*map(int, words[:7]))) for words in added]
        assert computed[: len(wanted) if norms == "every" else 1] == list(wanted if norms == "every" else wanted[-1:])


def test_machine_code():
    """All functions are inlined, local memory is not used, and packets travel in pairs of 16 bytes."""
    parts = Decomposition((60, 101), (1, 1), (True, False), (1, 1), (0,))
    launch = resident(Stencil(diffuse_2d, 2, "float64", 1, True), parts, 0, 2, "every", 16)
    assert launch.blocks <= 16 and launch.threads % LANES == 0
    assert len(launch.tables(1 << 20, [0])) == LANES * launch.blocks
    options = {"bounds": launch.bounds, "fused": False, "shared_bytes": launch.shared_bytes}
    code = ptx_of(launch.kernel, elements=TABLE["float64"], **options)
    assert not re.search(r"\bcall\b|\.local\b", code)
    assert len(re.findall(r"\bbar(?:rier)?\.sync\b", code)) == 8  # the branches of different warps count separately
    assert "st.volatile.global.v4.u32" in code and "ld.volatile.global.v4.u32" in code
    assert "red.global.add.u64" in code


def test_no_tiles():
    parts = Decomposition((3000, 3000), (1, 1), (False, False), (1, 1), (0,))
    assert tiles_of(Stencil(diffuse_2d, 2, "float32", 1, True), parts, 0, 4, 132) is None
    assert tiles_of(Stencil(diffuse_2d, 3, "float32", 1, True), parts, 0, 4, 132) is None
