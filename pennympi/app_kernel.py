"""Kernels of applications: functions of the user's own, compiled for the team's device."""

import inspect
import os
import re
from collections.abc import Callable
from functools import cache
from traceback import walk_tb
from types import FunctionType
from typing import Any, NoReturn

import numpy as np

from .arrays.dtypes import MOVED, TABLE, DType, is_int
from .backend import Kernel
from .collectives.base import CollectiveContext
from .compile.bind import annotated_kinds, annotations, is_record, parameters, records, types_of_fields
from .compile.digest import keyed
from .compile.known import static_parameters
from .compile.options import KernelOptions, LaunchBounds
from .errors import PennympiError, Unsupported
from .kernels.algorithm import MAX_THREADS, WARP_THREADS
from .kernels.block import Elements, Words

DEFAULT_THREADS = 256
WORDS = (TABLE["int64"], TABLE["uint64"])  # may stand for one another
_LIBRARY = os.path.dirname(__file__) + os.sep
_FLOATS = (float, np.floating)
_INTS = (int, np.integer, np.bool_)  # NumPy's numbers are buffers too: the address of one would be worthless


class AppKernel:
    """A kernel that is compiled on its first call, once for each kind of arguments: ints or floats."""

    def __init__(self, context: CollectiveContext, kernel: Callable[..., Any], dtype: DType, bounds: LaunchBounds):
        self._backend, self._guard, self._arrays = context.backend, context.guard, context.arrays
        self._kernel, self._dtype, self._bounds = plain(kernel), dtype, bounds
        if dtype.name in MOVED:
            raise Unsupported(f"a kernel has no elements of {dtype.name}: convert the array, or pass a view of numbers")
        max_threads, min_blocks = bounds
        if not WARP_THREADS <= max_threads <= MAX_THREADS or max_threads % WARP_THREADS:
            raise ValueError(f"most_threads {max_threads} is not a multiple of {WARP_THREADS} up to {MAX_THREADS}")
        if min_blocks < 0:
            raise ValueError(f"resident {min_blocks}: it is a number of blocks, or 0")
        self.key = kernel, dtype, bounds  # kernels with the same key share their machine code
        self._name = self._kernel.__name__
        kernel = keyed(self._kernel)  # whose annotations may be others by now
        self._wanted = list(records(kernel).items())[1:]
        self._annotations, self._kinds = annotations(kernel), annotated_kinds(kernel)
        self._fitting = [_fitting(one, dtype) for one in self._annotations]
        self._compiled: dict[str, Kernel] = {}
        self._fields_of = cache(types_of_fields)
        self._is_flat = cache(lambda record: not any(map(is_record, types_of_fields(record).values())))

    def __call__(self, blocks: int, *args: Any, stream: Any = None, threads: int | None = None) -> None:
        """Launch in stream order.

        blocks:  of the grid
        args:    ints, floats, arrays (their address is passed), or records of these: the kernel's parameters after ctx.
                 They fit the annotations of the parameters, where there are any: ``Elements`` takes arrays of the
                 kernel's dtype, ``Words`` arrays of int64 or uint64, ``int`` ints, ``float`` ints and floats
        threads: of a block, on a GPU; None: 256, or as many as the kernel allows
        Raises TypeError (also for a kernel that can't be compiled), ValueError, Unsupported, and PeerTimeout for a call
        of this PE that has failed.
        """
        if not self._guard.is_open:
            self._guard.check_open()
        if threads is None:
            threads = min(self._bounds.max_threads, DEFAULT_THREADS)
        if not is_int(blocks):
            wanted = "the first argument of a launch is the number of blocks, such as 4"
            raise TypeError(f"{wanted}: kernel {self._name} got one of type {type(blocks).__name__}")
        if blocks < 1:
            raise ValueError(f"blocks {blocks}: a launch needs at least one block")
        most = self._bounds.max_threads
        if not is_int(threads) or not 1 <= threads <= most or threads % WARP_THREADS:
            raise ValueError(f"threads {threads} is not a multiple of {WARP_THREADS} up to {most}")
        values, kinds = self._numbers(args), self._kinds
        for i, value in enumerate(values):
            if type(value) is not int or self._fitting[i]:  # most are, and nothing has to be done about them
                values[i] = number = self._number(i, value)
                if isinstance(number, float) and kinds[i] == "i":
                    kinds = f"{kinds[:i]}f{kinds[i + 1 :]}"
        kernel = self._compiled.get(kinds)
        if kernel is None:
            kernel = self._compile(kinds)
        self._backend.streams.order.record_pending()  # the kernel may wait for a peer
        kernel.launch(blocks, values, self._backend.streams.handle(stream), threads)

    def compile(self) -> None:
        """Compile for floats where a parameter, or a field of its record, is annotated so, else for ints and arrays."""
        if self._kinds not in self._compiled:
            self._compile(self._kinds)

    def _compile(self, kinds: str) -> Kernel:
        """The machine code for these kinds of arguments.  Raises TypeError with the compiler's message."""
        options = KernelOptions(kinds, self._dtype, bounds=self._bounds)
        try:
            kernel = self._compiled[kinds] = self._backend.compiler.kernel(keyed(self._kernel), self._name, options)
        except (PennympiError, OSError, MemoryError):
            raise
        except Exception as error:  # of Numba, of many types
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
            else:
                values += self._numbers_of(arg, name, record)
        return values

    def _numbers_of(self, arg: Any, name: str, annotation: Any) -> list[Any]:
        """A number, or the numbers of a record and of records in it.  Raises TypeError."""
        if not is_record(annotation):
            return [arg]
        if not isinstance(arg, annotation):
            raise TypeError(f"kernel {self._name} takes a {annotation.__name__} as {name}, not {type(arg).__name__}")
        if self._is_flat(annotation):
            return [*arg]
        fields = zip(arg, self._fields_of(annotation).items(), strict=True)
        return [number for value, (field, one) in fields for number in self._numbers_of(value, field, one)]

    def _number(self, i: int, value: Any) -> int | float:
        """A number as Python's int or float; an array's address.  Raises TypeError unless it fits its annotation."""
        fitting, is_float = self._fitting[i], isinstance(value, _FLOATS)
        if is_float or isinstance(value, _INTS):
            if fitting or (is_float and self._annotations[i] is int):
                element = ": the view of an element is x[i:i+1]" * isinstance(value, np.generic)
                self._refuse(i, f"the number {value}{element}")
            return float(value) if is_float else int(value)
        view = self._arrays.array_view(value, False)
        self._arrays.holds(view)
        if fitting is not None and view.dtype not in fitting:
            self._refuse(i, f"an array of {view.dtype.name}")
        return view.address

    def _refuse(self, i: int, given: str) -> NoReturn:
        """Raise TypeError for an argument that does not fit its annotation."""
        wanted = self._annotations[i]
        if wanted == Elements:
            what = f"an array of {self._dtype.name}, the dtype in team.kernel({self._name}, {self._dtype.name!r}),"
        elif wanted == Words:
            what = "an array of int64 or uint64, such as team.signals(n),"
        else:
            what = f"{wanted.__name__}"
        raise TypeError(f"kernel {self._name} takes {what} as {parameters(self._kernel)[1 + i]}, not {given}")


def compile_kernels(kernels: list[AppKernel], local_pe: int, n_local: int) -> None:
    """Compile kernels.  The PEs of a node begin with another one each, and find those of the others compiled."""
    for one in kernels:
        if not isinstance(one, AppKernel):
            raise TypeError(f"compile takes what team.kernel() returned, not {type(one).__name__}")
    unlike = list({one.key: one for one in kernels}.values())
    own = len(unlike) * local_pe // n_local
    for one in (*unlike[own:], *unlike[:own], *kernels):
        one.compile()


def _fitting(annotation: Any, own: DType) -> tuple[DType, ...] | None:
    """The dtypes of the arrays that a parameter takes: () for none, None for any.  own: the kernel's dtype"""
    if annotation == Elements:
        return WORDS if own in WORDS else (own,)
    if annotation == Words:
        return WORDS
    return () if annotation in (int, float) else None


def cannot_compile(kernel: Any, error: Exception) -> TypeError:
    """The error to raise for a compiler's: its message, and the line."""
    where = f"{kernel.__code__.co_filename}:{kernel.__code__.co_firstlineno}"
    for frame, _ in walk_tb(error.__traceback__):
        line: Any = getattr(frame.f_locals.get("self"), "loc", None)  # numba-cuda's message does not always have it
        if hasattr(line, "filename") and not line.filename.startswith(_LIBRARY):
            where = f"{line.filename}:{line.line}"
    message = re.sub(r"\x1b\[[0-9;]*m", "", str(error))  # without Numba's colours
    rule = "an array is an address there, for load(x, i) and store(y, i, value)"
    return TypeError(f"kernel {kernel.__name__} can't be compiled, {where} ({rule}): {message}")


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
    if names := ", ".join(static_parameters(kernel)):
        name = kernel.__name__
        raise TypeError(
            f"kernel {name} has static parameters: pass pennympi.specialised({name}, {names}) with their values"
        )
    return kernel
