"""Kernels of applications: functions of the user's own, compiled for the team's device."""

from collections.abc import Callable
from typing import Any

import numpy as np

from .arrays.dtypes import DType
from .backend import Backend, Kernel
from .call_guard import CallGuard
from .compile.bind import annotated_kinds, records
from .compile.options import PLAIN, KernelOptions, LaunchBounds
from .kernels.algorithm import MAX_THREADS, WARP_THREADS
from .memory.symmetric import SymmetricArrays

DEFAULT_THREADS = 256


class AppKernel:
    """A kernel that is compiled on its first call, once for each kind of arguments: ints or floats."""

    def __init__(
        self,
        backend: Backend,
        guard: CallGuard,
        arrays: SymmetricArrays,
        kernel: Callable[..., Any],
        dtype: DType,
        bounds: LaunchBounds,
    ):
        self._backend, self._guard, self._arrays = backend, guard, arrays
        self._kernel, self._dtype, self._bounds = kernel, dtype, bounds
        max_threads, min_blocks = bounds
        if not WARP_THREADS <= max_threads <= MAX_THREADS or max_threads % WARP_THREADS:
            raise ValueError(f"most_threads {max_threads} is not a multiple of {WARP_THREADS} up to {MAX_THREADS}")
        if min_blocks < 1:
            raise ValueError(f"resident {min_blocks}: a multiprocessor holds at least one block")
        self.key = kernel, dtype, bounds  # kernels with the same key share their machine code
        self._name = getattr(kernel, "__name__", "kernel")
        self._wanted = list(records(kernel).items())[1:]
        self._ints = PLAIN.kinds_of(kernel)
        self._compiled: dict[str, Kernel] = {}

    def __call__(self, blocks: int, *args: Any, stream: Any = None, threads: int | None = None) -> None:
        """Launch in stream order.

        blocks:  of the grid
        args:    ints, floats, arrays (their address is passed), or records of these: the kernel's parameters after ctx
        threads: of a block, on a GPU; None: 256, or as many as the kernel allows
        Raises TypeError, ValueError, Unsupported, and PeerTimeout for a call of this PE that has failed.
        """
        if not self._guard.is_open:
            self._guard.check_open()
        if threads is None:
            threads = min(self._bounds.max_threads, DEFAULT_THREADS)
        if blocks < 1:
            raise ValueError(f"blocks {blocks}: a launch needs at least one block")
        most = self._bounds.max_threads
        if not 1 <= threads <= most or threads % WARP_THREADS:
            raise ValueError(f"threads {threads} is not a multiple of {WARP_THREADS} up to {most}")
        values, kinds = self._numbers(args), self._ints
        for i, value in enumerate(values):
            if type(value) is not int:  # most are, and nothing has to be done about them
                values[i] = number = self._number(value)
                if isinstance(number, float):
                    kinds = f"{kinds[:i]}f{kinds[i + 1 :]}"
        kernel = self._compiled.get(kinds)
        if kernel is None:
            kernel = self._compile(kinds)
        self._backend.order.record_pending()  # the kernel may wait for a peer
        kernel.launch(blocks, values, self._backend.stream_handle(stream), threads)

    def compile(self) -> None:
        """Compile for floats where a parameter, or a field of its record, is annotated so, else for ints and arrays."""
        kinds = annotated_kinds(self._kernel)
        if kinds not in self._compiled:
            self._compile(kinds)

    def _compile(self, kinds: str) -> Kernel:
        options = KernelOptions(kinds, self._dtype, bounds=self._bounds)
        kernel = self._compiled[kinds] = self._backend.kernel(self._kernel, self._name, options)
        return kernel

    def _numbers(self, args: tuple[Any, ...]) -> list[Any]:
        """The arguments, with the fields of a record in its place.  Raises TypeError."""
        if len(args) != len(self._wanted):
            raise TypeError(f"kernel {self._name} takes {len(self._wanted)} arguments after blocks, not {len(args)}")
        values: list[Any] = []
        for arg, (name, record) in zip(args, self._wanted, strict=True):
            if record is None:
                values.append(arg)
            elif isinstance(arg, record):
                values += arg
            else:
                raise TypeError(f"kernel {self._name} takes a {record.__name__} as {name}, not {type(arg).__name__}")
        return values

    def _number(self, value: Any) -> int | float:
        """A number as Python's int or float; the address of an array, which may not be freed or of another team."""
        if isinstance(value, float | np.floating):
            return float(value)
        # NumPy's numbers are buffers too: the address of one would be worthless.
        if isinstance(value, int | np.integer | np.bool_):
            return int(value)
        span = self._backend.span(value, False)
        self._arrays.holds(span)
        return span.address
