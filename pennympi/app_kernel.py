"""Kernels of applications: functions of the user's own, compiled for the team's device."""

import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any, NoReturn

import numpy as np

from .arrays.dtypes import TABLE, DType
from .backend import Backend, Kernel
from .call_guard import CallGuard
from .compile.bind import annotated_kinds, parameters, records
from .compile.diagnosis import cannot_compile
from .compile.kernel_text import Use, uses_of
from .compile.options import PLAIN, KernelOptions, LaunchBounds
from .errors import PennympiError
from .kernels.algorithm import MAX_THREADS, WARP_THREADS
from .memory.symmetric import SymmetricArrays

DEFAULT_THREADS = 256
WORDS = (TABLE["int64"], TABLE["uint64"])  # may stand for one another
_FLOATS = (float, np.floating)
_INTS = (int, np.integer, np.bool_)  # NumPy's numbers are buffers too: the address of one would be worthless


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
        self._kernel, self._dtype, self._bounds = plain(kernel), dtype, bounds
        max_threads, min_blocks = bounds
        if not WARP_THREADS <= max_threads <= MAX_THREADS or max_threads % WARP_THREADS:
            raise ValueError(f"most_threads {max_threads} is not a multiple of {WARP_THREADS} up to {MAX_THREADS}")
        if min_blocks < 1:
            raise ValueError(f"resident {min_blocks}: a multiprocessor holds at least one block")
        self.key = kernel, dtype, bounds  # kernels with the same key share their machine code
        self._name = self._kernel.__name__
        self._wanted = list(records(kernel).items())[1:]
        self._ints = PLAIN.kinds_of(kernel)
        self._compiled: dict[str, Kernel] = {}
        self._at: list[tuple[bool, tuple[DType, ...] | None]] = []  # see ``_learn``

    def __call__(self, blocks: int, *args: Any, stream: Any = None, threads: int | None = None) -> None:
        """Launch in stream order.

        blocks:  of the grid
        args:    ints, floats, arrays (their address is passed), or records of these: the kernel's parameters after ctx.
                 An array that the kernel loads or stores has the kernel's dtype, one of signal words int64 or uint64
        threads: of a block, on a GPU; None: 256, or as many as the kernel allows
        Raises TypeError (also for a kernel that can't be compiled), ValueError, Unsupported, and PeerTimeout for a call
        of this PE that has failed.
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
                values[i] = number = self._number(i, value)
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
        """The machine code for these kinds of arguments.  Raises TypeError, which says what the kernel does wrong."""
        options = KernelOptions(kinds, self._dtype, bounds=self._bounds)
        try:
            kernel = self._compiled[kinds] = self._backend.kernel(self._kernel, self._name, options)
        except (PennympiError, OSError, MemoryError):
            raise
        except Exception as error:  # of Numba, of many types: its traceback would not name the user's mistake
            raise cannot_compile(self._kernel, error) from None
        return kernel

    def _numbers(self, args: tuple[Any, ...]) -> list[Any]:
        """The arguments, with the fields of a record in its place.  Raises TypeError."""
        if len(args) != len(self._wanted):
            context, *names = records(self._kernel)
            raise TypeError(
                f"kernel {self._name} takes {len(names)} arguments after blocks ({', '.join(names)}), not {len(args)}: "
                f"the launch itself gives the first parameter, {context}"
            )
        values: list[Any] = []
        for arg, (name, record) in zip(args, self._wanted, strict=True):
            if record is None:
                values.append(arg)
            elif isinstance(arg, record):
                values += arg
            else:
                raise TypeError(f"kernel {self._name} takes a {record.__name__} as {name}, not {type(arg).__name__}")
        return values

    def _number(self, i: int, value: Any) -> int | float:
        """A number as Python's int or float; the address of an array that the kernel may have as its number ``i``."""
        if isinstance(value, _FLOATS):
            return float(value)
        if isinstance(value, _INTS):
            return int(value)
        written, dtypes = (self._at or self._learn())[i]
        span = self._backend.span(value, written)
        self._arrays.holds(span)
        if dtypes is not None and span.dtype not in dtypes:
            self._refuse(i, span.dtype.name)
        return span.address

    def _learn(self) -> list[tuple[bool, tuple[DType, ...] | None]]:
        """For each number, whether an array there is written, and the dtypes that it may have: None for any."""
        own = WORDS if self._dtype in WORDS else (self._dtype,)
        dtypes = {Use.ELEMENTS: own, Use.WORDS: WORDS, Use.ELEMENTS | Use.WORDS: tuple(set(own) & set(WORDS))}
        self._at = [(Use.WRITTEN in use, dtypes.get(use & ~Use.WRITTEN)) for use in uses_of(self._kernel)]
        return self._at

    def _refuse(self, i: int, found: str) -> NoReturn:
        """Raise ValueError for an array of another dtype than the kernel takes to lie there."""
        name, parameter, own = self._name, parameters(self._kernel)[1 + i], self._dtype.name
        if Use.ELEMENTS in uses_of(self._kernel)[i]:
            remedy = f"compile it by team.kernel({name}, {found!r}), or pass an array of {own}"
            raise ValueError(f"kernel {name} loads or stores {own} at {parameter}, and the array is {found}: {remedy}")
        raise ValueError(
            f"kernel {name} has 64-bit words at {parameter}, and the array is {found}: pass int64 or uint64, such as "
            "team.signals(n)"
        )


def plain(kernel: Any) -> FunctionType:
    """``kernel``.  Raises TypeError unless it is a plain function of ctx and other parameters, without * and **."""
    if not isinstance(kernel, FunctionType):
        remedy = "its py_func" if hasattr(kernel, "py_func") else "what def makes"
        raise TypeError(f"a kernel is a plain Python function, and {type(kernel).__name__} is none: pass {remedy}")
    every = inspect.signature(kernel).parameters.values()
    if not every or any(one.kind is not one.POSITIONAL_OR_KEYWORD for one in every):
        raise TypeError(
            f"kernel {kernel.__name__}{inspect.signature(kernel)} needs ctx as its first parameter, then one for each "
            "argument, and no others"
        )
    return kernel
