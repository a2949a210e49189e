"""Kernels of applications: texts of the user's own, compiled for the team's device."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .arrays.dtypes import DType
from .backend import Backend, Kernel
from .compile.bind import records
from .kernels.algorithm import MAX_THREADS, WARP_THREADS

DEFAULT_THREADS = 256


class AppKernel:
    """A text compiled on its first call, once for each kind of arguments."""

    def __init__(self, backend: Backend, text: Callable[..., Any], dtype: DType, bounds: tuple[int, int]):
        self._backend, self._text, self._dtype, self._bounds = backend, text, dtype, bounds
        if not WARP_THREADS <= bounds[0] <= MAX_THREADS or bounds[0] % WARP_THREADS:
            raise ValueError(f"most_threads {bounds[0]} is not a multiple of {WARP_THREADS} up to {MAX_THREADS}")
        if bounds[1] < 1:
            raise ValueError(f"resident {bounds[1]}: a multiprocessor holds at least one block")
        self._name = getattr(text, "__name__", "kernel")
        self._wanted = dict(list(records(text).items())[1:])
        self._compiled: dict[str, Kernel] = {}

    def __call__(self, blocks: int, *args: Any, stream: Any = None, threads: int | None = None) -> None:
        """Launch in stream order.

        args:    ints, floats, arrays (their address is passed), or records of these
        threads: of a block, on a GPU; 256, where the kernel allows as many
        """
        if threads is None:
            threads = min(self._bounds[0], DEFAULT_THREADS)
        if blocks < 1:
            raise ValueError(f"blocks {blocks}: a launch needs at least one block")
        if not 1 <= threads <= self._bounds[0] or threads % WARP_THREADS:
            raise ValueError(f"threads {threads} is not a multiple of {WARP_THREADS} up to {self._bounds[0]}")
        values, kinds = [], ""
        for arg in self._numbers(args):
            if isinstance(arg, float | np.floating):
                values.append(float(arg))
                kinds += "f"
                continue
            # NumPy's numbers are buffers too: the address of one would be worthless.
            number = isinstance(arg, int | np.integer | np.bool_)
            values.append(int(arg) if number else self._backend.span(arg, False).address)
            kinds += "i"
        kernel = self._compiled.get(kinds)
        if kernel is None:
            kernel = self._backend.kernel(self._text, self._name, kinds, elements=self._dtype, bounds=self._bounds)
            self._compiled[kinds] = kernel
        self._backend.order.settle()  # the kernel may wait for a peer
        kernel.launch(blocks, values, self._backend.stream_handle(stream), threads)

    def _numbers(self, args: tuple[Any, ...]) -> Iterator[Any]:
        """The arguments, with the fields of a record in its place.  Raises TypeError."""
        if len(args) != len(self._wanted):
            raise TypeError(f"kernel {self._name} takes {len(self._wanted)} arguments after blocks, not {len(args)}")
        for arg, (name, record) in zip(args, self._wanted.items(), strict=True):
            if record and not isinstance(arg, record):
                raise TypeError(f"kernel {self._name} takes a {record.__name__} as {name}, not {type(arg).__name__}")
            yield from arg if record else (arg,)
