"""Kernels of a simulated team, which plain Python runs."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ..arrays.dtypes import DType
from ..backend import Run, prepared_by_launch
from ..compile.bind import is_record, is_tagged, records, types_of_fields
from ..compile.options import PLAIN, KernelOptions
from ..errors import Unsupported
from .heap import Heap
from .launches import Launch
from .streams import Streams

BYTES = np.dtype("uint8"), np.dtype("uint8")


def dtypes_of(dtype: DType) -> tuple[Any, Any]:
    """NumPy's dtypes of elements and of partials."""
    if dtype.acc_bytes == dtype.item_bytes:
        return dtype.numpy, dtype.numpy
    if dtype.acc_bytes > 8:
        raise Unsupported(f"the simulator has no avg of {dtype.name}: use a narrower dtype")
    return dtype.numpy, np.dtype(f"{dtype.kind.replace('b', 'f')}{dtype.acc_bytes}")


def argument(annotation: Any, numbers: Iterator[Any]) -> Any:
    """A number, or a record of numbers and records, for an annotation."""
    if not is_record(annotation):
        return next(numbers)
    return annotation(*(argument(field, numbers) for field in types_of_fields(annotation).values()))


class SimulatedKernel:
    """See ``pennympi.backend.Kernel``."""

    def __init__(self, compiler: "Compiler", kernel: Callable[..., Any], name: str, options: KernelOptions):
        self._compiler, self._kernel, self._name = compiler, kernel, name
        self._records, self._tagged = list(records(kernel).values()), is_tagged(kernel)
        self._dtypes, self._op = BYTES, "sum"
        if options.reduction:
            dtype, self._op = options.reduction
            self._dtypes = dtypes_of(dtype)
        elif options.elements:
            self._dtypes = dtypes_of(options.elements)

    def launch(self, blocks: int, args: Sequence[int | float], stream: int, threads: int = 0) -> None:
        """Enqueue the kernel.  If an argument is a plain array of the process, wait until it has run."""
        compiler = self._compiler
        numbers = iter((compiler.me, *args))
        arguments = [argument(record, numbers) for record in self._records]
        launch = Launch(self._name, self._kernel, arguments, blocks, self._dtypes, self._op, tagged=self._tagged)
        launch.pes = compiler.pes
        compiler.streams.push(launch, stream, any(map(compiler.heap.is_of_process, args)))

    def prepare(self, blocks: int, args: Sequence[int | float], left_open: tuple[int, ...], threads: int = 0) -> Run:
        """A function that launches with new values of the arguments ``left_open`` (indices) at each call."""
        return prepared_by_launch(self, blocks, args, left_open)


class Compiler:
    """See ``pennympi.backend.Compiler``.  me: this PE in the team;  pes: numbers of the team's PEs in the machine"""

    def __init__(self, heap: Heap, streams: Streams, me: int, pes: Sequence[int]):
        self.heap, self.streams, self.me, self.pes = heap, streams, me, pes

    def kernel(self, kernel: Callable[..., Any], name: str, options: KernelOptions = PLAIN) -> SimulatedKernel:
        """The kernel; it is not compiled."""
        return SimulatedKernel(self, kernel, name, options)
