"""``put_lines`` of a GPU, run for each thread on bytes of NumPy: it writes every byte of the lines, and no other byte."""

from random import Random
from types import FunctionType, SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("numba_cuda", reason="numba-cuda is not installed")

from pennympi.cuda.device import lines as room
from pennympi.kernels.records import Lines

THREADS = 32


def run(memory, dst, src, lines):
    """The body of every thread of a block; stores of more than a byte must be aligned."""
    stored = []

    def load(address, nbytes):
        assert address % nbytes == 0
        return memory[address : address + nbytes].copy()

    def store(address, value):
        assert address % len(value) == 0
        memory[address : address + len(value)] = value
        stored.append((address, len(value)))

    units = {"load_pair": 16, "load_word": 8, "load_4": 4, "load_1": 1}
    names = {name: lambda address, n=n: load(address, n) for name, n in units.items()}
    names |= dict.fromkeys(("store_pair", "store_word", "store_4", "store_1"), store)
    names |= {"copy_one_16": lambda to, at: store(to, load(at, 16)), "divide_32": lambda x, y: x // y}
    names |= {"peer_address": lambda ctx, address, pe: address, "GAVE_UP": 0}
    cuda = SimpleNamespace(blockDim=SimpleNamespace(x=THREADS), threadIdx=SimpleNamespace(x=0), syncthreads=lambda: None)
    space = {**vars(room), **names, "cuda": cuda}
    for name in ("offsets", "move_1", "move_4", "put_lines"):
        space[name] = FunctionType(getattr(room, name).__code__, space)
    gave_up = space["load_word"]
    space["load_word"] = lambda address: 0 if address == 0 else gave_up(address)  # the word GAVE_UP of ctx 0
    for thread in range(THREADS):
        cuda.threadIdx.x = thread
        space["put_lines"](0, dst, src, lines, 0)
    return stored


@pytest.mark.parametrize("unit", [16, 8, 4, 2, 1])
def test_lines_of_any_shape(unit):
    rng = Random(unit)
    for _ in range(30):
        planes, rows, nbytes = rng.randint(1, 4), rng.randint(1, 40), unit * rng.randint(1, 9)
        src_row, dst_row = (nbytes + unit * rng.randint(0, 3) for _ in range(2))
        src_plane, dst_plane = (row * rows + unit * rng.randint(0, 3) for row in (src_row, dst_row))
        src, dst = 64 * unit, 64 * unit + planes * src_plane
        memory = np.random.default_rng(rng.getrandbits(32)).integers(0, 256, dst + planes * dst_plane, np.uint8)
        right, first = memory.copy(), rng.randint(0, planes * rows)
        stop = rng.randint(first, planes * rows)
        for line in range(first, stop):
            plane, row = divmod(line, rows)
            start, into = src + plane * src_plane + row * src_row, dst + plane * dst_plane + row * dst_row
            right[into : into + nbytes] = memory[start : start + nbytes]
        shape = (rows, nbytes, dst_plane, dst_row, src_plane, src_row, first, stop)
        stored = run(memory, dst, src, Lines(*shape))
        assert (memory == right).all(), shape
        assert sum(n for _, n in stored) == (stop - first) * nbytes and len({at for at, _ in stored}) == len(stored)
        if unit != 2:
            assert all(n >= unit for _, n in stored), "units as large as the alignment allows"
