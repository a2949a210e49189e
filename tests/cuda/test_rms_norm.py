"""The RMSNorm of a block without a GPU: its body with threads of Python, and the instructions that it becomes."""

import threading
from types import SimpleNamespace

import numpy as np
import pytest
from mpi4py import MPI

pytest.importorskip("numba_cuda", reason="numba-cuda is not installed")
if MPI.COMM_WORLD.Get_size() > 1:
    pytest.skip("one process stands for all: run these tests without mpirun", allow_module_level=True)

from pennympi.compile.bind import bind
from pennympi.cuda import norm

EPS = 1e-6
ITEM = np.dtype(np.float16)
LIMIT_S = 60


class Cluster:
    """Blocks that can write one another's shared memory, and their barrier: a thread arrives, and waits later."""

    def __init__(self, memory, threads, blocks):
        self._changed, self._come, self._n = threading.Condition(), 0, threads * blocks
        self.blocks = [Block(memory, threads, self, rank) for rank in range(blocks)]

    def arrive(self):
        with self._changed:
            self._come += 1
            self._changed.notify_all()

    def wait(self, times):
        """Until all threads have arrived so many times."""
        with self._changed:
            assert self._changed.wait_for(lambda: self._come >= times * self._n, LIMIT_S), "a thread has not come"


class Block:
    """Threads of one block, on ``memory`` (nbytes,) uint8: what ``rms_norm`` calls, of float16."""

    def __init__(self, memory, threads, cluster=None, rank=0):
        self.memory, self._n, self._own = memory, threads, threading.local()
        self._all, self._shared = threading.Barrier(threads, timeout=LIMIT_S), {}
        self._warps = [threading.Barrier(32, timeout=LIMIT_S) for _ in range(threads // 32)]
        self._values = np.zeros(threads, np.float32)
        self.cuda = SimpleNamespace(threadIdx=self, blockDim=SimpleNamespace(x=threads), shfl_xor_sync=self.swap)
        self.cuda.syncthreads, self.cuda.shared = self._all.wait, SimpleNamespace(array=self.shared)
        self._cluster, self._rank, self._times = cluster, rank, [0] * threads
        self.written = []

    def shared(self, n, kind):
        return self._shared.setdefault(n, np.full(n, np.nan, np.float32))

    def cluster_wait(self):
        self._times[self.x] += 1
        self._cluster.wait(self._times[self.x])

    def write_shared(self, array, index, value, rank):
        assert array is self._shared[array.size]
        self._cluster.blocks[rank].shared(array.size, None)[index] = value

    @property
    def x(self):
        return self._own.thread

    def swap(self, mask, value, offset):
        warp = self._warps[self.x // 32]
        self._values[self.x] = value
        warp.wait()
        other = self._values[self.x ^ offset]
        warp.wait()
        return other

    def warp_sum(self, value):
        for offset in (16, 8, 4, 2, 1):
            value = np.float32(value + self.swap(0, value, offset))
        return value

    def load_16(self, at):
        assert at % 16 == 0
        return tuple(self.memory[at : at + 16].view(np.uint64))

    def store_16(self, at, pair):
        assert at % 16 == 0
        self.written.append(at)
        self.memory[at : at + 16] = np.array(pair).view(np.uint8)

    def word_at(self, at, offset, nbytes):
        word = np.zeros(8, np.uint8)
        word[: max(0, nbytes - offset)] = self.memory[at + offset : at + min(offset + 8, nbytes)]
        return word.view(np.uint64)[0]

    def store_word_at(self, at, offset, nbytes, word):
        self.memory[at + offset : at + min(offset + 8, nbytes)] = word.reshape(1).view(np.uint8)[
            : max(0, nbytes - offset)
        ]

    def start(self, *args):
        """``rms_norm`` by all threads: how to wait for them."""
        names = ("load_16", "store_16", "word_at", "store_word_at", "warp_sum", "cuda")
        scope = {name: getattr(self, name) for name in names}
        scope |= {"here": int, "ALIGNED": False, "ITEM_BYTES": ITEM.itemsize, "WIDE": np.float32}
        scope |= {"CLUSTERED": self._cluster is not None, "write_shared": self.write_shared}
        if self._cluster:
            scope |= {"cluster_blocks": lambda: len(self._cluster.blocks), "cluster_rank": lambda: self._rank}
            scope |= {"cluster_arrive": self._cluster.arrive, "cluster_wait": self.cluster_wait}
        scope |= {"libdevice": SimpleNamespace(longlong_as_double=lambda bits: np.int64(bits).view(np.float64))}
        scope |= {"add_squares": add_squares, "normalised": normalised, "reciprocal_root": lambda x: 1 / np.sqrt(x)}
        body, failed = bind(norm.rms_norm, {}, lambda helper: helper, scope), []

        def thread(number):
            self._own.thread = number
            try:
                body(0, *args, int(np.float64(EPS).view(np.int64)))
            except Exception as error:
                failed.append(error)
                for barrier in (self._all, *self._warps):
                    barrier.abort()

        threads = [threading.Thread(target=thread, args=(k,)) for k in range(self._n)]
        for one in threads:
            one.start()

        def join():
            for one in threads:
                one.join(LIMIT_S)
            assert not failed, failed[0]

        return join


def elements(pair):
    return np.array(pair, np.uint64).view(ITEM)


def add_squares(total, pair):
    for one in elements(pair).astype(np.float64):
        total = np.float32(one * one + np.float64(total))
    return total


def normalised(pair, weights, scale):
    result = elements(pair).astype(np.float32) * scale * elements(weights).astype(np.float32)
    return tuple(result.astype(ITEM).view(np.uint64))


@pytest.mark.parametrize(
    ("rows", "row_elems", "threads"),
    [(1, 1, 32), (3, 7, 64), (2, 1024, 64), (1, 600, 32), (2, 1600, 32), (5, 40, 96)],
)
def test_rows(rows, row_elems, threads):
    """Every element once, in place or not; more rows than sums have room, vectors or words: always the same bits."""
    random = np.random.default_rng(rows)
    x, weight = (random.standard_normal(n).astype(ITEM) for n in (rows * row_elems, row_elems))
    wide = x.reshape(rows, -1).astype(np.float64)
    wanted = wide * weight.astype(np.float64) / np.sqrt((wide * wide).mean(1, keepdims=True) + EPS)
    found = []
    for shift, in_place in ((0, False), (0, True), (6, False), (1, True)):
        at, room = 64 + shift, (x.nbytes + 79) // 16 * 16
        out, scale_at = at if in_place else at + room, at + 2 * room
        memory = np.full(scale_at + weight.nbytes + 64, 0x5A, np.uint8)
        memory[at : at + x.nbytes] = x.view(np.uint8)
        memory[scale_at : scale_at + weight.nbytes] = weight.view(np.uint8)
        before = memory.copy()
        block = Block(memory, threads)
        block.start(out, at, scale_at, rows * row_elems, row_elems)()
        result = memory[out : out + x.nbytes].copy()
        before[out : out + x.nbytes] = result
        assert (memory == before).all(), "written beside out"
        assert len(set(block.written)) == len(block.written)
        assert bool(block.written) == (shift == 0 and row_elems * ITEM.itemsize % 16 == 0)
        found.append(result.tobytes())
        assert np.allclose(result.view(ITEM).reshape(rows, -1).astype(np.float64), wanted, 2.0**-10, 2.0**-24)
    assert len(set(found)) == 1


@pytest.mark.parametrize(("part_elems", "threads", "blocks"), [(8, 32, 2), (96, 64, 4), (600, 64, 2), (7, 32, 4)])
def test_parts_of_a_row(part_elems, threads, blocks):
    """By the blocks of a cluster, two rows one after the other: vectors or words, in place or not."""
    row_elems = part_elems * blocks
    random, part_bytes = np.random.default_rng(blocks), part_elems * ITEM.itemsize
    x, weight = random.standard_normal((2, row_elems)).astype(ITEM), random.standard_normal(row_elems).astype(ITEM)
    wide = x.astype(np.float64)
    wanted = wide * weight.astype(np.float64) / np.sqrt((wide * wide).mean(1, keepdims=True) + EPS)
    for in_place in (False, True):
        at, room = 64, (x.nbytes + 79) // 16 * 16
        out, scale_at = at if in_place else at + room, at + 2 * room
        memory = np.zeros(scale_at + weight.nbytes, np.uint8)
        memory[at : at + x.nbytes] = x.reshape(-1).view(np.uint8)
        memory[scale_at:] = weight.view(np.uint8)
        cluster = Cluster(memory, threads, blocks)
        for row in range(2):
            shifts = [rank * part_bytes for rank in range(blocks)]
            here, there = at + row * row_elems * ITEM.itemsize, out + row * row_elems * ITEM.itemsize
            ends = [
                block.start(there + shift, here + shift, scale_at + shift, part_elems, row_elems)
                for block, shift in zip(cluster.blocks, shifts, strict=True)
            ]
            for end in ends:
                end()
        result = memory[out : out + x.nbytes].view(ITEM).reshape(x.shape)
        assert np.allclose(result.astype(np.float64), wanted, 2.0**-10, 2.0**-24)
