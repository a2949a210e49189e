"""A warp of a GPU in NumPy: the functions that ``march_cuda_source.py`` of ``apps/jacobi/sweep`` calls, on arrays of 32
lanes.  An address is an offset in a PE's memory.
"""

from types import FunctionType, SimpleNamespace

import numpy as np

from apps.jacobi.norm import add_exact
from apps.jacobi.norm.exact_sum import INTEGER_BITS, LANE_BYTES, LANE_COLUMNS, LIMB_BITS
from apps.jacobi.sweep.march_cuda_source import source

LANE = np.arange(32)


def rebound(function, scope):
    """A function with other globals."""
    return FunctionType(function.__code__, {**function.__globals__, **scope}, function.__name__)


def add_lane(memory, *args):
    """``add_exact_lane`` of one lane, on the words in ``memory``."""

    def add_shared(base, index, value):
        memory[base + 8 * index : base + 8 * index + 8].view("i8")[0] += value

    limb = rebound(add_exact.add_exact_limb, {"add_shared": add_shared})
    rebound(add_exact.add_exact_lane, {"add_shared": add_shared, "add_exact_limb": limb})(*args)


class Warp:
    """The functions of ``march_cuda.py`` for one warp, on one PE's memory, (nbytes,) uint8."""

    LaneSum = add_exact.LaneSum

    def __init__(self, memory, dtype):
        self._memory, self._dtype = memory, np.dtype(dtype)

    def _march(self, sweeps, norms, nx):
        """``march`` for passes of ``sweeps`` sweeps, as a Python function."""
        width = LANE_COLUMNS[self._dtype.name]
        scope = {name: getattr(self, name) for name in dir(self) if not name.startswith("_")}
        scope["cuda"] = SimpleNamespace(laneid=LANE, blockDim=SimpleNamespace(x=32), threadIdx=SimpleNamespace(x=0))
        exec(source(sweeps, norms, self._dtype.name, (nx - 1) % width, "march"), scope)

        def march(*args):
            with np.errstate(all="ignore"):
                scope["march"](*args)

        return march

    def load_row(self, at):
        elements = self._memory.view(self._dtype)
        return [elements[at // self._dtype.itemsize + k] for k in range(LANE_COLUMNS[self._dtype.name])]

    def store_half(self, condition, at, values):
        assert len(values) * self._dtype.itemsize == LANE_BYTES // 2 and not (at % 16).any()
        elements = self._memory.view(self._dtype)
        for k, value in enumerate(values):
            elements[(at // self._dtype.itemsize + k)[condition]] = value[condition]

    def prefetch(self, at):
        assert (at + LANE_BYTES <= self._memory.size).all()

    def real(self, x):
        return np.full(32, x, self._dtype)

    def quarter(self, x):
        return x * self._dtype.type(0.25)

    def fused(self, x, y, z):  # the product is exact for float32, and nearly so for float64
        return (np.longdouble(x) * np.longdouble(y) + np.longdouble(z)).astype(self._dtype)

    def pick(self, condition, x, y):
        return np.where(condition, x, y)

    def between(self, x, low, high):
        return np.clip(x, low, high)

    def least(self, x, y):
        return np.minimum(x, y)

    def within(self, x, n):
        return (x >= 0) & (x < n)

    def swap(self, x, far):
        return x[LANE ^ far]

    def shift_up(self, x):
        return x[np.maximum(LANE - 1, 0)]

    def shift_down(self, x):
        return x[np.minimum(LANE + 1, 31)]

    def limb_scale(self, j):
        return np.ldexp(1.0, LIMB_BITS * j - INTEGER_BITS)

    def limb_of(self, x, scale):
        scaled = np.where(np.isfinite(x), x, 0).astype("f8") * scale
        return ((scaled - np.trunc(scaled)) * 2.0**LIMB_BITS).astype("i8")

    def too_large(self, x):
        return ~(x < 2.0**INTEGER_BITS)

    def add_exact_lane(self, at, warp, place, limb, bad):
        lanes = (place.lane, place.level, limb, bad)
        for lane, level, one_limb, one_bad in zip(*(values.tolist() for values in lanes), strict=True):
            one = place._replace(lane=lane, level=level)
            add_lane(self._memory, at, warp, one, one_limb, one_bad)
