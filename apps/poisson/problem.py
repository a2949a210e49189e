"""Which equation is solved, and how."""

import math

import numpy as np

Shape = tuple[int, ...]


class Problem:
    """-laplace(u) = f on the unit square or cube.

    shape:    points by dimension, two or three; the last dimension is contiguous in memory;  points: of the whole grid
    periodic: by dimension.  Where it is not, u is 0 at distance h from the first and the last point, h = 1 / (n + 1)
    singular: a constant can be added to u: f must have the mean 0 then, and so has the u that is found
    dtype:    of the fields, whose points have ``item_bytes``;  dot products are sums in float64
    tol:      stop when the norm of the residual is at most this part of that of f
    niter:    largest number of iterations
    replace:  iterations after which the residual is computed anew from u; 0: never
    method:   a row of ``METHODS``
    spacings: h by dimension
    scale:    the kernels' operator is -laplace times this
    weights:  of the differences along x, y and z in that operator; 0 for the x that a plane has not
    """

    def __init__(
        self, shape: Shape, periodic: tuple[bool, ...], dtype: str = "float64", tol: float = 1e-8, niter: int = 10000,
        replace: int = 100, method: str = "cg",
    ):  # fmt: skip
        self.shape, self.periodic, self.dtype, self.method = shape, periodic, dtype, method
        self.tol, self.niter, self.replace = tol, niter, replace
        self.points, self.singular, self.item_bytes = math.prod(shape), all(periodic), np.dtype(dtype).itemsize
        self.spacings = tuple(1.0 / (n + (not around)) for n, around in zip(shape, periodic, strict=True))
        self.scale = min(self.spacings) ** 2
        self.weights = (0.0, *(self.scale / h**2 for h in self.spacings))[-3:]
