"""The resident kernel in registers, several PEs' blocks side by side in Python, against NumPy's sweeps, bit for bit."""

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
    memory, every = np.zeros(n_pes * PE_BYTES, np.uint8), []
    lead, pitch = -item_bytes % LINE_BYTES // item_bytes, -(-(points[1] + 2) // 16) * 16 + 16
    for pe in range(n_pes):
        one, (rows, columns) = Memory(memory, pe, n_pes), parts.own(pe)
        made = resident(stencil, parts, pe, depth, norms, blocks)
        inbox = one.room(made.inbox_bytes)  # first, because the inbox is symmetric and the fields differ in size
        (y, x), one.own = parts.first(pe), (slice(1, rows + 1), slice(lead + 1, lead + columns + 1))
        fields = [one.view(one.room((rows + 2) * pitch * item_bytes), (rows + 2, pitch), dtype) for _ in range(3)]
        for field in fields[:2]:
            field[:, lead : lead + columns + 2] = whole[y : y + rows + 2, x : x + columns + 2]
        if has_coefficient:
            fields[2][one.own] = rates[y : y + rows, x : x + columns]
        one.fields, one.table = (
            fields,
            one.keep(np.array(made.tables(inbox, [(k - pe) * PE_BYTES for k in range(n_pes)]))),
        )
        one.values, one.norms, one.made = one.keep(np.array([RATE], dtype)), one.room(levels * LEVEL_BYTES), made
        every.append(one)
    for sweeps in counts:
        launches = []
        for one in every:
            one.view(one.norms, (levels * LEVEL_BYTES,), np.uint8)[:] = 0
            at = [field.ctypes.data - memory.ctypes.data + lead * item_bytes for field in one.fields]
            records = SweepFields(at[1], at[0], at[2], 0, pitch)
            args = one.ctx, records, one.table, one.values, one.norms, sweeps
            launches.append((one.made.kernel, one.made.blocks, one.made.threads, one.made.shared_bytes, args))
        Blocks(memory, dtype).run(launches)
        inner = (slice(1, -1),) * 2
        whole[inner], wanted = swept(stencil.formula, whole, periodic, sweeps, (RATE,) * has_coefficient, rates)
        for pe, one in enumerate(every):
            own = tuple(slice(first, first + n) for first, n in zip(parts.first(pe), parts.own(pe), strict=True))
            assert (one.fields[1][one.own] == whole[inner][own]).all()
            one.fields[0][one.own] = one.fields[1][one.own]
        added = sum(one.view(one.norms, (levels, COPIES, WORDS), np.int64).sum(1) for one in every)
        found = [norm_of(SumWords(*map(int, words[:7]))) for words in added]
        assert found[: len(wanted) if norms == "every" else 1] == list(wanted if norms == "every" else wanted[-1:])


def test_machine_code():
    """All functions are inlined, nothing is in local memory, and packets travel by 16 bytes."""
    parts = Decomposition((60, 101), (1, 1), (True, False), (1, 1), (0,))
    made = resident(Stencil(diffuse_2d, 2, "float64", 1, True), parts, 0, 2, "every", 16)
    assert made.blocks <= 16 and made.threads % LANES == 0
    assert len(made.tables(1 << 20, [0])) == LANES * made.blocks
    options = {"bounds": made.bounds, "fused": False, "shared_bytes": made.shared_bytes}
    code = ptx_of(made.kernel, elements=TABLE["float64"], **options)
    assert not re.search(r"\bcall\b|\.local\b", code)
    assert len(re.findall(r"\bbar(?:rier)?\.sync\b", code)) == 8  # the branches of different warps count separately
    assert "st.volatile.global.v4.u32" in code and "ld.volatile.global.v4.u32" in code
    assert "red.global.add.u64" in code


def test_no_tiles():
    parts = Decomposition((3000, 3000), (1, 1), (False, False), (1, 1), (0,))
    assert tiles_of(Stencil(diffuse_2d, 2, "float32", 1, True), parts, 0, 4, 132) is None
    assert tiles_of(Stencil(diffuse_2d, 3, "float32", 1, True), parts, 0, 4, 132) is None
