"""A block of a GPU in NumPy: the kernels of ``pennympi/stencil/on_gpu`` on arrays of all threads, a statement at a time.

An address is an offset in ``memory``, or in shared memory, which is a separate array and NaN at first.  A thread that
reads a number that another thread stored since the last barrier, or that is being copied, gets NaN.
"""

from collections import defaultdict
from types import SimpleNamespace

import numpy as np
from sweep_reference import multiply_add

from pennympi.compile.bind import bind
from pennympi.compile.unroll import specialised
from pennympi.kernels.sweep.norm import LEVEL_BYTES, add_values, no_squares, raised
from pennympi.stencil.on_gpu.march.level_squares import add_lanes_to_words
from pennympi.stencil.on_gpu.warp.norm import add_squares_of_warp, add_values_of_warp, in_all, squares_of_warp
from pennympi.stencil.on_gpu.warp.warp import LANE_BYTES

SHARED_BYTES, PIECE_BYTES = 227 << 10, 16


class Threads:
    """The functions that kernels call, for one block.  values: {address of words: values of groups added to the words}

    Kernels of one and two dimensions, whose warps diverge, run with blocks of one warp.
    """

    WARPS = 1

    def __init__(self, dtype):
        self._dtype = np.dtype(dtype)
        self._width = PIECE_BYTES // self._dtype.itemsize
        self.values = defaultdict(list)
        self.cuda = SimpleNamespace()

    def run(self, kernel, blocks, threads, memory, args, numbers):
        """Launch the blocks with these numbers of a kernel."""
        self._memory = memory
        scope = {name: getattr(self, name) for name in dir(self) if not name.startswith("_")}
        adders = [specialised(add_values_of_warp, n) for n in range(1, 4)]
        adders += [specialised(add_values, n, in_all, raised) for n in (1, 2, 3, 4, 6, 8, 12, 24)]
        replaced = dict.fromkeys(adders, lambda squares, values: squares + values)
        replaced |= {specialised(squares_of_warp, n): lambda values: values for n in range(1, 4)}
        replaced |= {no_squares: tuple, add_squares_of_warp: self._add_squares_of_warp}
        replaced |= {add_lanes_to_words: self._add_lanes_to_words}
        bound = bind(kernel, scope, lambda function: function, scope, compiled=replaced)
        shape, grid = ((n, 1, 1) if isinstance(n, int) else n for n in (threads, blocks))
        self._thread = np.arange(np.prod(shape))
        x, y = self._thread % shape[0], self._thread // shape[0]
        self.cuda.laneid, self.cuda.threadIdx = self._thread % 32, SimpleNamespace(x=x, y=y)
        self.cuda.blockDim = SimpleNamespace(x=shape[0], y=shape[1])
        for index in (np.unravel_index(number, grid) for number in numbers):
            self._block, self.cuda.blockIdx = index[0], SimpleNamespace(x=index[0], y=index[1], z=index[2])
            self._shared = np.full(SHARED_BYTES // self._dtype.itemsize, np.nan, self._dtype)
            self._writer = np.full(len(self._shared), -1)  # thread of each store since the last barrier
            self._copies = [[]]  # groups of incomplete copies
            with np.errstate(all="ignore"):
                bound(0, *args)

    # numbers
    def block(self):
        return self._block

    def real(self, x):
        return np.asarray(x, self._dtype)

    def pick(self, condition, x, y):
        return np.where(condition, x, y)

    def product(self, x, y):
        return x * y

    def multiply_add(self, x, y, z):
        return multiply_add(x, y, z)

    def within(self, x, n):
        return (x >= 0) & (x < n)

    def least(self, x, y):
        return np.minimum(x, y)

    def most(self, x, y):
        return np.maximum(x, y)

    def between(self, x, low, high):
        return np.clip(x, low, high)

    def divide_32(self, x, y):
        return x // y

    # memory
    def load(self, base, index):
        return self._memory.view(self._dtype)[base // self._dtype.itemsize + index]

    def load_number_where(self, condition, address, default):
        return np.where(condition, self.load(np.where(condition, address, 0), 0), default)

    def load_piece(self, address, like):
        assert not (address % PIECE_BYTES).any() and (address >= 0).all()
        return tuple(self.load(address, k) for k in range(self._width))

    def load_piece_where(self, condition, address, default):
        loaded = self.load_piece(np.where(condition, address, 0), None)
        return tuple(np.where(condition, x, y) for x, y in zip(loaded, default, strict=True))

    def store_numbers(self, first, stop, address, piece):
        assert not (address % PIECE_BYTES).any()
        elements = self._memory.view(self._dtype)
        for k, value in enumerate(piece):
            inside = (first <= k) & (k < stop) & (self._thread >= 0)
            index = (address // self._dtype.itemsize + k)[inside]
            assert np.unique(index).size == index.size
            elements[index] = value[inside]

    def load_row(self, address, like):
        assert not (address % LANE_BYTES).any()
        return tuple(self.load(address, k) for k in range(2 * self._width))

    def store_half(self, condition, address, piece):
        self.store_numbers(np.where(condition, 0, self._width), self._width, address, piece)

    def store_some(self, first, stop, address, piece):
        self.store_numbers(first, stop, address, piece)

    def prefetch(self, address):
        assert (address >= 0).all()
        assert (address + LANE_BYTES <= self._memory.nbytes).all()

    def anew(self, x):
        return x

    # numbers of other lanes
    def warp_number(self):
        return 0

    def shift_up(self, x):
        return np.where(self._thread % 32 == 0, x, np.roll(x, 1))

    def shift_down(self, x):
        return np.where(self._thread % 32 == 31, x, np.roll(x, -1))

    def swap(self, x):
        return x[self._thread ^ 1]

    # shared memory
    def shared_start(self):
        return 0

    def load_shared_where(self, condition, address, default):
        index = np.where(condition, address // self._dtype.itemsize, 0)
        is_seen = (self._writer[index] < 0) | (self._writer[index] == self._thread)
        return np.where(condition, np.where(is_seen, self._shared[index], np.nan), default)

    def load_vector(self, address, like):
        assert not (address % PIECE_BYTES).any() and (address >= 0).all() and (address < SHARED_BYTES).all()
        return tuple(self.load_shared_where(True, address + k * self._dtype.itemsize, 0) for k in range(self._width))

    def store_shared_where(self, condition, address, piece):
        for k, value in enumerate(piece):
            index = (address // self._dtype.itemsize + k)[condition]
            self._shared[index], self._writer[index] = value[condition], self._thread[condition]

    def copy_piece(self, condition, shared, address):
        condition = condition & (self._thread >= 0)
        if condition.any():
            piece = [np.where(condition, x, 0) for x in self.load_piece(np.where(condition, address, 0), None)]
            self._copies[-1].append((condition, shared, piece))
            self.store_shared_where(condition, shared, [np.full(len(self._thread), np.nan)] * self._width)

    def end_group(self):
        self._copies.append([])

    def wait_for_group(self):
        while len(self._copies) > 3:
            for copy in self._copies.pop(0):
                self.store_shared_where(*copy)

    def load_number(self, address, like):
        return self.load_shared_where(True, address, 0)

    def store_number(self, address, x):
        self.store_shared_where(self._thread >= 0, address, [np.broadcast_to(x, self._thread.shape)])

    def sync(self):
        self._writer[:] = -1

    def sync_warp(self):
        self.sync()

    def _add_squares_of_warp(self, words, squares):
        self.values[words].extend(squares)

    def _add_lanes_to_words(self, words, squares, levels, stride):
        for level in range(stride):
            own = [x[self._thread % stride == level] for x in squares]
            assert level < levels or not np.any(own)
            if level < levels:
                self.values[words + level * LEVEL_BYTES] += own
