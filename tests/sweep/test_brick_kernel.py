"""The resident kernel in shared memory, with several PEs' blocks side by side in Python, against NumPy's sweeps."""

import numpy as np
import pytest
from sweep_reference import norm_of_changes
from test_bricks import plain

from pennympi.compile import context as ctx_words
from pennympi.cuda.sweep.brick import Bricks as Launch
from pennympi.cuda.sweep.brick import brick_kernel
from pennympi.grid.decomposition import Decomposition
from pennympi.grid.sweep.brick_shape import Limits, shape_of
from pennympi.grid.sweep.brick_tables import at_address, brick_words
from pennympi.grid.sweep.bricks import Bricks
from pennympi.kernels.in_kernel.exact import WORDS, SumWords
from pennympi.kernels.sweep.formula import Stencil
from pennympi.kernels.sweep.norm import COPIES, LEVEL_BYTES, norm_of
from pennympi.kernels.sweep.records import SweepFields

greenlets = pytest.importorskip("greenlets", reason="needs greenlet", exc_type=ModuleNotFoundError)
PE_BYTES = 1 << 21
CASES = [  # points, PEs, periodic, bricks of a PE by axis, depth, sweeps of each launch, dtype, norms
    ((200,), (1,), (False,), (1, 1, 2), 3, (5,), "float64", "every"),
    ((301,), (1,), (True,), (1, 1, 3), 3, (4,), "float32", "every"),
    ((210,), (2,), (True,), (1, 1, 1), 2, (3, 2), "float32", "none"),
    ((13, 70), (1, 1), (False, False), (2, 1, 2), 3, (4, 1), "float64", "every"),
    ((13, 69), (1, 1), (False, True), (1, 1, 1), 2, (3,), "float32", "every"),
    ((13, 71), (1, 1), (False, False), (2, 1, 2), 4, (3,), "float64", "every"),
    ((9, 41), (2, 1), (True, True), (1, 1, 2), 2, (3,), "float32", "none"),
    ((11, 40), (2, 1), (True, True), (2, 1, 2), 4, (3,), "float32", "every"),
    ((5, 6, 7), (1, 1, 1), (False, False, False), (2, 1, 2), 2, (3, 2), "float64", "last"),
    ((4, 7, 19), (1, 2, 1), (True, True, False), (1, 2, 1), 1, (2,), "float32", "none"),
    ((5, 6, 21), (1, 1, 1), (True, False, True), (2, 1, 2), 1, (3,), "float32", "every"),
    ((5, 6, 13), (1, 1, 1), (True, False, True), (1, 2, 1), 2, (2,), "float64", "every"),
]


class Memory:
    """What one PE has, at addresses from its own first one on."""

    def __init__(self, memory, pe, n_pes):
        self.memory, self.end = memory, pe * PE_BYTES + 4096
        peer_offsets = [(other - pe) * PE_BYTES for other in range(n_pes)]
        self.ctx = self.keep(np.array([0] * ctx_words.PEER_OFFSETS + peer_offsets))

    def room(self, nbytes):
        self.end += -(-nbytes // 64) * 64
        return self.end - -(-nbytes // 64) * 64

    def view(self, address, shape, dtype):
        nbytes = int(np.prod(shape)) * np.dtype(dtype).itemsize
        return self.memory[address : address + nbytes].view(dtype).reshape(shape)

    def keep(self, array):
        address = self.room(array.nbytes)
        self.view(address, array.shape, array.dtype)[...] = array
        return address


@pytest.mark.parametrize("points, pes, periodic, cut, depth, counts, dtype, norms", CASES)
def test_brick_kernel(points, pes, periodic, cut, depth, counts, dtype, norms):
    n_dims, n_pes, item_bytes = len(points), int(np.prod(pes)), np.dtype(dtype).itemsize

    def formula(here, *beside):
        out = here * np.dtype(dtype).type(0.3)
        for k, one in enumerate(beside):
            out = out + np.dtype(dtype).type(0.1 + 0.01 * k) * one
        return out

    parts = Decomposition(points, pes, periodic, (1,) * n_dims, tuple(range(n_pes)))
    stencil = Stencil(formula, n_dims, dtype, 0, False)
    made = shape_of(parts, stencil, norms, Limits(132, 227 << 10), cut, depth)
    bricks = Bricks(parts, cut, depth, made.storage, item_bytes)
    slots = max(len(bricks.lines(pe, block).pe) for pe in range(n_pes) for block in range(made.blocks))
    whole = np.random.default_rng(1).random(tuple(n + 2 for n in points)).astype(dtype)
    memory, every, levels = np.zeros(n_pes * PE_BYTES, np.uint8), [], max(counts)
    for pe in range(n_pes):
        one = Memory(memory, pe, n_pes)
        inbox = one.room(2 * made.blocks * slots * 16)  # first, since it is symmetric and the fields have any sizes
        there = tuple(slice(first, first + n + 2) for first, n in zip(parts.first(pe), parts.own(pe), strict=True))
        fields = [one.keep(whole[there]), one.keep(np.zeros(parts.local(pe), dtype))]
        words = brick_words(bricks, pe, parts.halo, slots)
        one.words = one.keep(words)
        one.view(one.words, words.shape, np.int64)[:] = at_address(words, made.blocks, one.words)
        one.norms, one.fields = one.room(levels * LEVEL_BYTES), fields
        one.launch = (one.words, one.room(8 * made.blocks), inbox, slots * 16, made.blocks * slots * 16)
        every.append(one)
    kernel = brick_kernel(stencil, norms, all(edge * item_bytes % 16 == 0 for edge in parts.edges[-1]))
    for sweeps in counts:
        launches = []
        for pe, one in enumerate(every):
            strides = [stride // item_bytes for stride in one.view(one.fields[0], parts.local(pe), dtype).strides]
            plane, row = {3: strides[:2], 2: (strides[0], 0), 1: (0, 0)}[n_dims]
            one.view(one.norms, (levels * LEVEL_BYTES,), np.uint8)[:] = 0
            storage = (made.storage.row * item_bytes, made.storage.plane * item_bytes, made.chunk)
            launch = Launch(*one.launch, sweeps, depth, *storage, made.cell_bytes, made.cell_bytes)
            records = SweepFields(one.fields[1], one.fields[0], 0, plane, row), launch
            args = one.ctx, *records, 0, one.norms
            launches.append((kernel, made.blocks, made.threads, made.shared_bytes, args))
        greenlets.Blocks(memory, dtype).run(launches)
        changes = []
        inner = (slice(1, -1),) * n_dims
        for _ in range(sweeps):
            new = plain(whole, periodic, lambda here, beside: formula(here, *beside))
            changes.append(norm_of_changes((new - whole)[inner]))
            whole = new
        for pe, one in enumerate(every):
            own = tuple(slice(first + 1, first + n + 1) for first, n in zip(parts.first(pe), parts.own(pe), strict=True))
            new, old = (one.view(field, parts.local(pe), dtype) for field in reversed(one.fields))
            assert (new[inner] == whole[own]).all()
            old[inner] = new[inner]
        if norms != "none":
            added = sum(one.view(one.norms, (levels, COPIES, WORDS), np.int64).sum(1) for one in every)
            wanted = changes if norms == "every" else changes[-1:]
            found = [norm_of(SumWords(*map(int, words[:7]))) for words in added[: len(wanted)]]
            assert found == wanted
