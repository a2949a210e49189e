"""Lines of a GPU, the text run for each thread on bytes of NumPy: every byte of the lines, and no other."""

from functools import partial
from random import Random
from types import FunctionType, SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("numba_cuda", reason="numba-cuda is not installed")

from pennympi.cuda.device import line_packets
from pennympi.cuda.device import lines as room
from pennympi.kernels.packets import GROUP_DATA_BYTES
from pennympi.kernels.records import Lines, Message

THREADS = 32
PUT = ("offsets", "move_1", "move_4", "put_lines")
LINES = (
    "unit_bytes", "box_of", "place_of", "moved", "words_at", "words_in_flight", "gathered", "write_words", "scatter",
    "send_lines", "receive_lines",
)  # fmt: skip


def run(module, names, memory, calls, **stand_ins):
    """Make the calls, (function, arguments), for every thread of a block; stores must be aligned.

    names: of the functions that run as they are written;  stand_ins: what takes the place of others
    Returns the stores, (address, bytes).
    """
    stored = []

    def load(n, address):
        assert address % n == 0
        return int.from_bytes(memory[address : address + n].tobytes(), "little")

    def store(n, address, value):
        assert address % n == 0
        memory[address : address + n] = np.frombuffer((value & (1 << 8 * n) - 1).to_bytes(n, "little"), np.uint8)
        stored.append((address, n))

    cuda = SimpleNamespace(blockDim=SimpleNamespace(x=THREADS), threadIdx=SimpleNamespace(x=0), syncthreads=lambda: None)
    cuda.syncwarp, cuda.all_sync = (lambda mask: None), (lambda mask, holds: holds)
    space = {**vars(module), "cuda": cuda, "divide_32": lambda x, y: x // y, "GAVE_UP": 0}
    space |= {"peer_address": lambda ctx, address, pe: address, "copy_one_16": lambda to, x: store(16, to, load(16, x))}
    for name, n in {"pair": 16, "word": 8, "4": 4, "1": 1}.items():
        space |= {f"load_{name}": partial(load, n), f"store_{name}": partial(store, n)}
    space["load_word"] = lambda address: load(8, address) if address else 0  # the word GAVE_UP of ctx 0
    space |= stand_ins
    for name in names:
        space[name] = FunctionType(getattr(module, name).__code__, space)
    for name, arguments in calls:
        for thread in range(THREADS):
            cuda.threadIdx.x = thread
            space[name](*arguments)
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
        stored = run(room, PUT, memory, [("put_lines", (0, dst, src, Lines(*shape), 0))])
        assert (memory == right).all(), shape
        assert sum(n for _, n in stored) == (stop - first) * nbytes and len({at for at, _ in stored}) == len(stored)
        if unit != 2:
            assert all(n >= unit for _, n in stored), "units as large as the alignment allows"


def through_packets(memory, dst, src, lines, nbytes):
    """Send groups of packets and receive them."""
    inbox = {}

    def send_part(to, i, pair, epoch):
        inbox[to + 16 * i] = pair[0], epoch if i & 7 == 7 else pair[1]

    run(
        line_packets,
        LINES,
        memory,
        [
            ("send_lines", (0, Message(0, src, nbytes, 0), lines, 1)),
            ("receive_lines", (0, Message(dst, 0, nbytes, 0), lines, 1)),
        ],
        poisoned=lambda ctx, epoch: epoch,
        send_part=send_part,
        poll_pair=inbox.get,
    )


@pytest.mark.parametrize("unit", [8, 4, 2, 1])
def test_packets_of_lines_of_any_shape(unit):
    rng = Random(unit)
    for _ in range(20):
        planes, rows, line = rng.randint(1, 4), rng.randint(1, 20), unit * rng.randint(1, 40)
        src_row, dst_row = (line + unit * rng.randint(0, 3) for _ in range(2))
        src_plane, dst_plane = (row * rows + unit * rng.randint(0, 3) for row in (src_row, dst_row))
        src, dst, nbytes = 64 * unit, 64 * unit + planes * src_plane, planes * rows * line
        memory = np.random.default_rng(rng.getrandbits(32)).integers(0, 256, dst + planes * dst_plane, np.uint8)
        right, groups = memory.copy(), -(-nbytes // GROUP_DATA_BYTES)
        first = rng.randint(0, groups)
        stop = rng.randint(first, groups)
        low, high = first * GROUP_DATA_BYTES, min(nbytes, stop * GROUP_DATA_BYTES)
        for k in range(low, high):
            plane, row = divmod(k // line, rows)
            start = src + plane * src_plane + row * src_row + k % line
            right[dst + plane * dst_plane + row * dst_row + k % line] = memory[start]
        lines = Lines(rows, line, dst_plane, dst_row, src_plane, src_row, first, stop)
        through_packets(memory, dst, src, lines, nbytes)
        assert (memory == right).all(), lines
