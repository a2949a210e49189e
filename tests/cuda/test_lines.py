"""Lines of a GPU, the text run for each thread on bytes of NumPy: every byte of the lines, and no other."""

from random import Random
from types import FunctionType, SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("numba_cuda", reason="numba-cuda is not installed")

from pennympi.cuda.device import line_packets, packet_data
from pennympi.cuda.device import lines as room
from pennympi.kernels.packets import GROUP_DATA_BYTES
from pennympi.kernels.records import Lines, Message

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


def through_packets(memory, dst, src, lines, nbytes):
    """Send groups of packets and receive them, for every thread of a block."""
    inbox = {}

    def loaded(n):
        return lambda address: int.from_bytes(memory[address : address + n].tobytes(), "little", signed=n > 1)

    def stored(n):
        def store(address, value):
            assert address % n == 0
            memory[address : address + n] = np.frombuffer((value & (1 << 8 * n) - 1).to_bytes(n, "little"), np.uint8)

        return store

    sizes = {"word": 8, "4": 4, "1": 1}
    names = {f"load_{name}": loaded(n) for name, n in sizes.items()} | {
        f"store_{name}": stored(n) for name, n in sizes.items()
    }
    names |= {"divide_32": lambda x, y: x // y, "peer_address": lambda ctx, address, pe: address}
    names |= {"poisoned": lambda ctx, epoch: epoch, "data_offset": packet_data.data_offset}
    names |= {
        "send_part": lambda to, i, pair, epoch: inbox.update({to + 16 * i: (pair[0], epoch if i & 7 == 7 else pair[1])})
    }
    names |= {"poll_pair": inbox.get}
    names |= {"take": lambda ctx, slot, i, epoch, pe: inbox[slot + 16 * i]}
    cuda = SimpleNamespace(blockDim=SimpleNamespace(x=THREADS), threadIdx=SimpleNamespace(x=0), syncthreads=lambda: None)
    cuda.syncwarp, cuda.all_sync = (lambda mask: None), (lambda mask, holds: holds)
    space = {**vars(line_packets), **names, "cuda": cuda}
    for name in ("unit_bytes", "place", "gathered", "gathered_pair", "scattered_pair", "send_lines", "receive_lines"):
        space[name] = FunctionType(getattr(line_packets, name).__code__, space)
    for name, message in (("send_lines", Message(0, src, nbytes, 0)), ("receive_lines", Message(dst, 0, nbytes, 0))):
        for thread in range(THREADS):
            cuda.threadIdx.x = thread
            space[name](0, message, lines, 1)


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
