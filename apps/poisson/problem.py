"""Which equation is solved, and how."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np


@dataclass(frozen=True)
class Problem:
    """-laplace(u) = f on the unit square or cube.

    shape:    points by dimension, two or three; the last dimension is contiguous in memory
    periodic: by dimension.  Where it is not, u is 0 at distance h from the first and the last point, h = 1 / (n + 1)
    dtype:    of the fields;  dot products are sums in float64
    tol:      stop when the norm of the residual is at most this part of that of f
    niter:    largest number of iterations
    replace:  iterations after which the residual is computed anew from u; 0: never
    """

    shape: tuple[int, ...]
    periodic: tuple[bool, ...]
    dtype: str = "float64"
    tol: float = 1e-8
    niter: int = 10000
    replace: int = 100

    @cached_property
    def spacings(self) -> tuple[float, ...]:
        """Distance of the points, by dimension."""
        return tuple(1.0 / (n + (0 if around else 1)) for n, around in zip(self.shape, self.periodic, strict=True))

    @cached_property
    def weights(self) -> tuple[float, float, float]:
        """1 / h**2 of x, y and z over the largest of them; 0 for the x that a plane has not."""
        every = [min(self.spacings) ** 2 / h**2 for h in self.spacings]
        return tuple([0.0] * (3 - len(every)) + every)  # type: ignore[return-value]

    @property
    def scale(self) -> float:
        """The kernels' operator is -laplace times this."""
        return min(self.spacings) ** 2

    @property
    def singular(self) -> bool:
        """Whether a constant can be added to u: f must have the mean 0 then, and so has the u that is found."""
        return all(self.periodic)

    @property
    def points(self) -> int:
        """Of the whole grid."""
        return math.prod(self.shape)

    @property
    def item_bytes(self) -> int:
        """Of a point."""
        return np.dtype(self.dtype).itemsize

    def eigenvalues(self) -> tuple[float, float]:
        """The smallest one above 0, and the largest one at most, of the kernels' operator."""
        least, most = [], 0.0
        weights = self.weights[3 - len(self.shape) :]
        for n, around, weight in zip(self.shape, self.periodic, weights, strict=True):
            first = 2 * math.pi / n if around else math.pi / (n + 1)  # of the longest wave
            least.append(weight * (2.0 - 2.0 * math.cos(first)))
            most += 4.0 * weight
        if self.singular:
            return min(one for one in least if one > 0) if any(least) else most, most
        return sum(one for one, around in zip(least, self.periodic, strict=True) if not around), most
