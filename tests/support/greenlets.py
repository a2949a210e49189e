"""Blocks of a GPU in Python, a greenlet for each thread: for kernels whose threads diverge and wait for other blocks.

An address is an offset in ``memory``; shared memory begins at SHARED, and holds NaN until a store.  Threads wait at the
barriers of warps and blocks, as on a device; a thread that waits for a line of another block lets the others run.
"""

from collections import deque
from types import SimpleNamespace

import numpy as np
from greenlet import getcurrent, greenlet
from sweep_reference import fused

from pennympi.compile import context as ctx_words
from pennympi.compile.bind import bind
from pennympi.simulator.single import number

SHARED, LANES = 1024, 32
PE_BYTES = 1 << 21


def wrapped(x):
    """An int as the result of int64 arithmetic."""
    return (x + (1 << 63)) % (1 << 64) - (1 << 63)


class Memory:
    """The memory of a PE, at addresses from its own first address on."""

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


class Barrier:
    def __init__(self, blocks, n):
        self._blocks, self._n, self._waiting, self._values = blocks, n, [], [None] * n

    def meet(self, place=0, value=None):
        """The values of all threads, after all have come."""
        self._values[place] = value
        if len(self._waiting) + 1 < self._n:
            self._waiting.append(getcurrent())
            self._blocks.hub.switch()
        else:
            self._result = list(self._values)
            self._blocks.ready.extend(self._waiting)
            self._waiting.clear()
        return self._result


class Blocks:
    """The functions that a kernel calls."""

    def __init__(self, memory, dtype):
        self.memory, self.dtype, self.ready, self.hub = memory, np.dtype(dtype), deque(), None

    def run(self, launches, replaced=None):
        """Run launches (kernel, blocks, threads, shared_bytes, args), of several PEs, in parallel.

        replaced: {function that kernels call: its replacement}
        """
        kept = ("run", "view_at", "shared_at", "here", "laneid", "threadIdx", "blockDim")
        names = [name for name in dir(type(self)) if not name.startswith("_") and name not in kept]
        scope = {name: getattr(self, name) for name in names} | {"cuda": self}
        threads = []
        for kernel, n_blocks, n_threads, shared_bytes, args in launches:
            bound = bind(kernel, scope, lambda function: function, scope, compiled=dict(replaced or {}))
            for block in range(n_blocks):
                shared = np.full(SHARED + shared_bytes, 0xFF, np.uint8)
                every, warps = Barrier(self, n_threads), [Barrier(self, LANES) for _ in range(-(-n_threads // LANES))]
                for k in range(n_threads):
                    threads.append(greenlet(lambda bound=bound, args=args: bound(*args)))
                    threads[-1].here = SimpleNamespace(
                        block=block,
                        blocks=n_blocks,
                        thread=k,
                        n=n_threads,
                        shared=shared,
                        every=every,
                        warp=warps[k // LANES],
                    )
        self.hub = getcurrent()
        self.ready.extend(threads)
        with np.errstate(all="ignore"):
            while self.ready:
                self.ready.popleft().switch()
        assert all(thread.dead for thread in threads), "threads wait for ever"

    # the grid
    here = property(lambda self: getcurrent().here)
    laneid = property(lambda self: self.here.thread % LANES)
    threadIdx = property(lambda self: SimpleNamespace(x=self.here.thread))
    blockDim = property(lambda self: SimpleNamespace(x=self.here.n))

    def block(self):
        return self.here.block

    def blocks(self):
        return self.here.blocks

    def syncthreads(self):
        self.here.every.meet()

    def syncwarp(self):
        self.here.warp.meet()

    def _lanes(self, x):
        return self.here.warp.meet(self.laneid, x)

    def all_sync(self, mask, x):
        return all(self._lanes(x))

    def shfl_sync(self, mask, x, source):
        return self._lanes(x)[source % LANES]

    def shfl_up_sync(self, mask, x, by):
        return self._lanes(x)[max(self.laneid - by, self.laneid % by)]

    def shfl_down_sync(self, mask, x, by):
        return self._lanes(x)[min(self.laneid + by, LANES - 1)]

    def least_of_warp(self, x):
        return min(self._lanes(x))

    def largest_of_warp(self, values):
        return self.real(np.max(self._lanes(values)))

    def total_of_warp(self, x):
        return sum(self._lanes(((x + (1 << 50)) & ((1 << 51) - 1)) - (1 << 50)))

    # numbers
    def real(self, x):
        return number(self.dtype, x)

    def within(self, x, n):
        return 0 <= x < n

    def product(self, x, y):
        return x * y

    def multiply_add(self, x, y, z):
        return self.real(fused(self.dtype.name)(x, y, z))

    def pick(self, condition, x, y):
        return x if condition else y

    def bits(self, x):
        return int(np.float64(x).view(np.int64))

    def float_of(self, x):
        return np.int64(x).view(np.float64)

    # memory
    def view_at(self, address, dtype):
        return self.memory[address : address + np.dtype(dtype).itemsize].view(dtype)

    def shared_at(self, address, dtype, n=1):
        size = n * np.dtype(dtype).itemsize
        assert address >= SHARED and address % size == 0 and address + size <= len(self.here.shared)
        return self.here.shared[address : address + size].view(dtype)

    def load(self, base, index):
        return self.real(self.view_at(base + index * self.dtype.itemsize, self.dtype)[0])

    def store(self, base, index, x):
        self.view_at(base + index * self.dtype.itemsize, self.dtype)[0] = x

    def load_word(self, address):
        return int(self.view_at(address, np.int64)[0])

    def store_word(self, address, x):
        self.view_at(address, np.int64)[0] = x

    def add_int64(self, address, x):
        self.view_at(address, np.int64)[0] += x

    def shared_start(self):
        return SHARED

    def load_number(self, address, like):
        if isinstance(like, int):
            return int(self.shared_at(address, np.int64)[0])
        return self.real(self.shared_at(address, self.dtype)[0])

    def store_number(self, address, x):
        if isinstance(x, int):
            self.shared_at(address, np.int64)[0] = wrapped(x)
        else:
            self.shared_at(address, self.dtype)[0] = x

    def prefetch(self, address):
        pass

    # quads
    def anew(self, x):
        return x

    def load_global(self, address, like):
        assert address % 16 == 0
        return tuple(map(self.real, self.memory[address : address + 4 * self.dtype.itemsize].view(self.dtype)))

    def store_global(self, address, quad):
        assert address % 16 == 0
        self.memory[address : address + 4 * self.dtype.itemsize].view(self.dtype)[:] = quad

    def load_shared(self, address, like):
        more = self.load_vector(address + 16, like) if self.dtype.itemsize == 8 else ()
        return self.load_vector(address, like) + more

    def load_vector(self, address, like):
        if isinstance(like, int):
            return tuple(map(int, self.shared_at(address, np.int64, 2)))
        return tuple(map(self.real, self.shared_at(address, self.dtype, 16 // self.dtype.itemsize)))

    def store_vector(self, address, numbers):
        width = 2 if isinstance(numbers[0], int) else 16 // self.dtype.itemsize
        for k in range(0, len(numbers), width):
            if isinstance(numbers[0], int):
                self.shared_at(address, np.int64, 2)[:] = [wrapped(x) for x in numbers]
            else:
                self.shared_at(address + k * self.dtype.itemsize, self.dtype, width)[:] = numbers[k : k + width]

    def put_quad(self, address, number, quad):
        words = np.array(quad, self.dtype).view(np.uint32)
        self.memory[address : address + 8 * len(words)].view(np.uint32)[:] = np.stack(
            [words, [number] * len(words)], 1
        ).ravel()

    def get_quad(self, address, number, like):
        self.ready.append(getcurrent())
        self.hub.switch()
        words = self.memory[address : address + 8 * self.dtype.itemsize].view(np.uint32).reshape(-1, 2)
        unequal = [int(word) for word in words[:, 1] if word != number]
        return tuple(map(self.real, words[:, 0].copy().view(self.dtype))), unequal[0] if unequal else number

    def missing_line(self, ctx, arrived, number, pe, since_ns):
        return since_ns
