"""A warp of a GPU in NumPy: what ``pennympi/cuda/sweep`` calls of ``warp.py`` and of primitives, on arrays of 32 lanes.

An address is an offset in a memory, (nbytes,) uint8.
"""

from collections import defaultdict

import numpy as np

from pennympi.compile.bind import bind
from pennympi.cuda.sweep.level_squares import add_lanes_to_words
from pennympi.cuda.sweep.norm import in_all
from pennympi.cuda.sweep.warp import LANE_BYTES, LANES
from pennympi.kernels.sweep.norm import LEVEL_BYTES, adder, no_squares

LANE = np.arange(LANES)
SHARED_BYTES = 8192


class Warp:
    """One warp after the other, each a block of its own.

    values: {address of the words of a level: what was added to it, arrays}
    """

    def __init__(self, memory, dtype):
        self._elements, self._dtype, self._block = memory.view(dtype), np.dtype(dtype), 0
        self.values = defaultdict(list)
        self._shared = np.full(SHARED_BYTES // 8, np.nan).view(dtype)

    def run(self, kernel, blocks, *args):
        """The kernel, in Python."""
        scope = {"WARPS": 1} | {name: getattr(self, name) for name in dir(self) if not name.startswith("_")}
        implementations = {"block": lambda: self._block, "real": self._dtype.type, "load": self.load}
        implementations |= {"product": lambda x, y: x * y, "multiply_add": lambda x, y, z: x * y + z}
        made = {adder(n, in_all): lambda squares, values: squares + values for n in (1, 2, 3, 4, 6, 8, 12, 24)}
        made |= {no_squares: tuple, add_lanes_to_words: self._add_lanes_to_words}
        bound = bind(kernel, implementations, lambda function: function, scope, made=made)
        with np.errstate(all="ignore"):
            for self._block in range(blocks):
                bound(0, *args, 0)

    def _add_lanes_to_words(self, words, squares, levels, apart):
        for level in range(apart):
            own = [x[LANE % apart == level] for x in squares]
            assert level < levels or not np.any(own)
            if level < levels:
                self.values[words + level * LEVEL_BYTES] += own

    def load(self, at, index):
        return self._elements[at // self._dtype.itemsize + index]

    def load_row(self, at, like):
        assert not (at % LANE_BYTES).any()
        return tuple(self._elements[at // self._dtype.itemsize + k] for k in range(LANE_BYTES // self._dtype.itemsize))

    def store_half(self, condition, at, values):
        assert len(values) * self._dtype.itemsize == LANE_BYTES // 2
        assert not (at % (LANE_BYTES // 2)).any()
        for k, value in enumerate(values):
            self._store(at // self._dtype.itemsize + k, value, condition)

    def store_some(self, first, stop, at, values):
        for k, value in enumerate(values):
            self._store(at // self._dtype.itemsize + k, value, (first <= k) & (k < stop))

    def _store(self, index, value, condition):
        assert np.unique(index[condition]).size == np.count_nonzero(condition)
        self._elements[index[condition]] = value[condition]

    def shared_start(self):
        return 0

    def load_number(self, at, like):
        return self._shared[at // self._dtype.itemsize]

    def store_number(self, at, x):
        self._shared[at // self._dtype.itemsize] = x

    def sync_warp(self):
        pass

    def least(self, x, y):
        return np.minimum(x, y)

    def anew(self, x):
        return x

    def prefetch(self, at):
        assert (at >= 0).all()
        assert (at + LANE_BYTES <= self._elements.nbytes).all()

    def between(self, x, low, high):
        return np.clip(x, low, high)

    def lane_number(self):
        return LANE

    def warp_number(self):
        return 0

    def pick(self, condition, x, y):
        return np.where(condition, x, y)

    def within(self, x, n):
        return (x >= 0) & (x < n)

    def swap(self, x):
        return x[LANE ^ 1]

    def shift_up(self, x):
        return x[np.maximum(LANE - 1, 0)]

    def shift_down(self, x):
        return x[np.minimum(LANE + 1, LANES - 1)]
