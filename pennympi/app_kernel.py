"""Kernels of applications: functions of the user, compiled for the team's device."""

import inspect
from collections.abc import Callable
from functools import cache
from itertools import chain
from types import FunctionType
from typing import Any, NoReturn, TypeVar

import numpy as np

from .arrays.dtypes import MOVED, TABLE, DType, is_int
from .backend import Kernel
from .checked_kernel import CheckedKernel, Extent
from .collectives.base import CollectiveContext
from .compile.bind import annotated_kinds, annotations, is_record, parameters, records, types_of_fields
from .compile.cache import numbered
from .compile.compiler_error import cannot_compile
from .compile.digest import keyed
from .compile.known import static_parameters
from .compile.mistakes import check_kernel
from .compile.options import KernelOptions, LaunchBounds
from .compile.source import StaticError
from .errors import OutOfBounds, PennympiError, Unsupported
from .kernels.algorithm import MAX_THREADS, WARP_THREADS
from .kernels.block import Elements, Words

DEFAULT_THREADS = 256
WORDS = (TABLE["int64"], TABLE["uint64"])  # dtypes that may replace each other
_FLOATS = (float, np.floating)
_INTS = (int, np.integer, np.bool_)  # NumPy's numbers also have a buffer, but the address of a number is useless
_NUMBERS = (*_FLOATS, *_INTS)
T = TypeVar("T")


class AppKernel:
    """A kernel that is compiled on its first call, once for each kind of arguments: ints or floats."""

    def __init__(
        self,
        context: CollectiveContext,
        kernel: Callable[..., Any],
        dtype: DType,
        bounds: LaunchBounds,
        check: bool | None = None,
    ):
        wanted = context.guard.debug if check is None else check
        self._context, self._check = context, wanted and not context.backend.checks
        self._must_check = check is True
        self._backend, self._guard, self._arrays = context.backend, context.guard, context.arrays
        self._kernel, self._dtype, self._bounds = plain(kernel), dtype, bounds
        check_kernel(self._kernel)
        if dtype.name in MOVED:
            raise Unsupported(f"a kernel has no elements of {dtype.name}: convert the array, or pass a view of numbers")
        max_threads, min_blocks = bounds
        if not WARP_THREADS <= max_threads <= MAX_THREADS or max_threads % WARP_THREADS:
            raise ValueError(f"most_threads {max_threads} is not a multiple of {WARP_THREADS} up to {MAX_THREADS}")
        if min_blocks < 0:
            raise ValueError(f"resident {min_blocks}: it is a number of blocks, or 0")
        self.key = kernel, dtype, bounds, self._check  # kernels with the same key share their machine code
        self._name = self._kernel.__name__
        kernel = keyed(self._kernel)  # its annotations may have changed
        self._wanted = list(records(kernel).items())[1:]
        self._annotations, self._kinds = annotations(kernel), annotated_kinds(kernel)
        self._fitting = [_fitting(annotation, dtype) for annotation in self._annotations]
        self._compiled: dict[str, Kernel] = {}
        self._fields_of = cache(types_of_fields)
        self._is_flat = cache(lambda record: not any(map(is_record, types_of_fields(record).values())))
        self._checked: dict[str, CheckedKernel | None] = {}

    def __call__(self, blocks: int, *args: Any, stream: Any = None, threads: int | None = None) -> None:
        """Launch in stream order.

        blocks:  number of blocks of the grid
        args:    ints, floats, arrays (their address is passed), or records of these, for the kernel's parameters after
                 ctx.  They must fit the annotations of the parameters, if there are any: ``Elements`` takes arrays of
                 the kernel's dtype, ``Words`` arrays of int64 or uint64, ``int`` ints, ``float`` ints and floats
        threads: threads of a block, on a GPU; None: 256, or as many as the kernel allows
        Raises TypeError, KernelError (the kernel can't be compiled), ValueError, Unsupported, OutOfBounds (a checked
        kernel), and PeerTimeout for a call of this PE that has failed.
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
        try:
            values, kinds = self._flat_arguments(args), self._kinds
            arguments = [*values] if self._check else []
            for i, value in enumerate(values):
                if type(value) is not int or self._fitting[i]:  # most arguments are ints of unannotated parameters
                    values[i] = number = self._number(i, value)
                    if isinstance(number, float) and kinds[i] == "i":
                        kinds = f"{kinds[:i]}f{kinds[i + 1 :]}"
            if self._check and self._launch_checked(blocks, arguments, values, kinds, stream, threads):
                return
            kernel = self._compiled.get(kinds)
            if kernel is None:
                kernel = self._compile(kinds)
        except (TypeError, ValueError, OutOfBounds) as error:  # the traceback ends at the caller's line
            raise error.with_traceback(None) from error.__cause__
        self._backend.streams.order.record_pending()  # the kernel may wait for a peer
        kernel.launch(blocks, values, self._backend.streams.handle(stream), threads)

    def compile(self) -> None:
        """Compile for floats where a parameter, or a field of its record, is annotated as float, else for int64."""
        if not (self._check and self._checked_kernel(self._kinds)) and self._kinds not in self._compiled:
            self._compile(self._kinds)

    def _compile(self, kinds: str) -> Kernel:
        """The machine code for these kinds of arguments.  Raises KernelError with the compiler's message."""
        make, options = self._backend.compiler.kernel, self._options(kinds)
        kernel = self._compiled[kinds] = self._result_of(lambda: make(keyed(self._kernel), self._name, options))
        return kernel

    def _options(self, kinds: str) -> KernelOptions:
        return KernelOptions(kinds, self._dtype, bounds=self._bounds)

    def _result_of(self, make: Callable[[], T]) -> T:
        """The result of ``make``.  Raises KernelError with the compiler's message."""
        try:
            return make()
        except (PennympiError, OSError, MemoryError, StaticError):
            raise
        except Exception as error:  # Numba raises many types of exceptions
            raise cannot_compile(self._kernel, error) from None

    def _checked_kernel(self, kinds: str) -> CheckedKernel | None:
        """The checked kernel; None if only PENNYMPI_DEBUG asks for it and the text of a function can't be read."""
        if kinds not in self._checked:
            try:
                self._checked[kinds] = self._result_of(
                    lambda: CheckedKernel(self._context, keyed(self._kernel), self._name, self._options(kinds))
                )
            except StaticError:
                if self._must_check:
                    raise
                self._checked[kinds] = None
        return self._checked[kinds]

    def _launch_checked(
        self, blocks: int, arguments: list[Any], values: list[Any], kinds: str, stream: Any, threads: int
    ) -> bool:
        """Launch the checked kernel; return False if only PENNYMPI_DEBUG asks for it and it can't run."""
        streams = self._backend.streams
        if streams.capture_id(streams.handle(stream)):
            if self._must_check:
                raise Unsupported(
                    "a checked kernel waits for its end, so it can't be captured in a graph: pass check=False"
                )
            return False
        kernel = self._checked_kernel(kinds)
        if kernel:
            streams.order.record_pending()
            fields = (self._names_of(name, record) for name, record in self._wanted)
            operands = zip(chain(*fields), arguments, values, strict=True)
            extents = [self._extent(*operand) for operand in operands]
            kernel.launch(blocks, values, extents, stream, threads)
        return kernel is not None

    def _extent(self, name: str, argument: Any, value: Any) -> Extent:
        """The extent of an argument: of the array, or of the array in which the address lies."""
        if not isinstance(argument, _NUMBERS):
            view = self._arrays.array_view(argument, False)
            return Extent(name, value, view.nbytes, self._arrays.holds(view))
        address = 0 if isinstance(value, float) else value
        array = self._arrays.extent(address)
        return Extent(name, *array, True) if array else Extent(name, address, -1, False)

    def _flat_arguments(self, args: tuple[Any, ...]) -> list[Any]:
        """The arguments, with records replaced by their fields.  Raises TypeError."""
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
                values += self._flat_argument(arg, name, record)
        return values

    def _flat_argument(self, arg: Any, name: str, annotation: Any) -> list[Any]:
        """An argument as a list; a record is replaced by its fields and those of the records in it.  Raises TypeError."""
        if not is_record(annotation):
            return [arg]
        if not isinstance(arg, annotation):
            raise TypeError(f"kernel {self._name} takes a {annotation.__name__} as {name}, not {type(arg).__name__}")
        if self._is_flat(annotation):
            return [*arg]
        fields = zip(arg, self._fields_of(annotation).items(), strict=True)
        return [number for value, (field, kind) in fields for number in self._flat_argument(value, field, kind)]

    def _names_of(self, name: str, annotation: Any) -> list[str]:
        """The name of a parameter, or the names of the fields of its record and of the records in it."""
        if not is_record(annotation):
            return [name]
        fields = self._fields_of(annotation).items()
        return [field_name for field, kind in fields for field_name in self._names_of(f"{name}.{field}", kind)]

    def _number(self, i: int, value: Any) -> int | float:
        """A number as a Python int or float, or an array's address.  Raises TypeError unless it fits its annotation."""
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

    def _refuse(self, i: int, passed: str) -> NoReturn:
        """Raise TypeError for an argument that does not fit its annotation."""
        wanted = self._annotations[i]
        if wanted == Elements:
            what = f"an array of {self._dtype.name}, the dtype in team.kernel({self._name}, {self._dtype.name!r}),"
        elif wanted == Words:
            what = "an array of int64 or uint64, such as team.signals(n),"
        else:
            what = f"{wanted.__name__}"
        raise TypeError(f"kernel {self._name} takes {what} as {parameters(self._kernel)[1 + i]}, not {passed}")


def compile_kernels(kernels: list[AppKernel], local_pe: int, n_local: int) -> None:
    """Compile kernels.  Each PE of a node begins with a different kernel, and loads those that the others compiled."""
    for kernel in kernels:
        if not isinstance(kernel, AppKernel):
            raise TypeError(f"compile takes what team.kernel() returned, not {type(kernel).__name__}")
    distinct = list({kernel.key: kernel for kernel in kernels}.values())
    first = len(distinct) * local_pe // n_local
    for number, kernel in enumerate((*distinct[first:], *distinct[:first]), 1):
        with numbered(number, len(distinct)):
            kernel.compile()
    for kernel in kernels:
        kernel.compile()


def _fitting(annotation: Any, kernel_dtype: DType) -> tuple[DType, ...] | None:
    """The dtypes of the arrays that a parameter takes; (): no arrays; None: arrays of any dtype."""
    if annotation == Elements:
        return WORDS if kernel_dtype in WORDS else (kernel_dtype,)
    if annotation == Words:
        return WORDS
    return () if annotation in (int, float) else None


def plain(kernel: Any) -> FunctionType:
    """``kernel``.  Raises TypeError unless it is a plain function of ctx and further parameters, without * and **."""
    if not isinstance(kernel, FunctionType):
        remedy = "its py_func" if hasattr(kernel, "py_func") else "a function made by def"
        raise TypeError(f"a kernel is a plain Python function, and {type(kernel).__name__} is none: pass {remedy}")
    all_parameters = inspect.signature(kernel).parameters.values()
    if not all_parameters or any(p.kind is not p.POSITIONAL_OR_KEYWORD for p in all_parameters):
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
