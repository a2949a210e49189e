"""The options with which a kernel is compiled, apart from its function and its name."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..arrays.dtypes import DType
from ..kernels.algorithm import MAX_THREADS
from .bind import parameters


class LaunchBounds(NamedTuple):
    """CUDA's __launch_bounds__.

    max_threads: maximum number of threads of a block
    min_blocks:  number of blocks that a multiprocessor must be able to hold at once, which bounds the registers of a
                 thread; 0: no bound is passed to the compiler, which may then use fewer registers
    """

    max_threads: int
    min_blocks: int = 0


BOUNDS = LaunchBounds(MAX_THREADS)


@dataclass(frozen=True)
class KernelOptions:
    """How to compile a kernel.

    kinds:     a letter for each of ``parameters`` after ``ctx``: "i" int64, "f" float64; "": all int64
    elements:  dtype of ``load``, ``store`` and ``real``
    reduction: dtype and op of the steps of a reduction (``to_partials``, ``reduce``, ``reduce_and_round``, ...)
    constants: parameters whose value may be compiled in; the mapping must not be changed
    aligned:   all arrays start and end at multiples of 16 bytes
    bounds:    None: a block leaves room on its multiprocessor for other kernels
    fused:     a product and a sum of it may become one instruction, which rounds once
    shared_bytes: dynamic shared memory of a block
    """

    kinds: str = ""
    elements: DType | None = None
    reduction: tuple[DType, str] | None = None
    constants: Mapping[str, int] = field(default_factory=dict, hash=False)
    aligned: bool = False
    bounds: LaunchBounds | None = None
    fused: bool = True
    shared_bytes: int = 0

    def kinds_of(self, kernel: Callable[..., Any]) -> str:
        """``kinds`` with a letter for each parameter."""
        return self.kinds or "i" * (len(parameters(kernel)) - 1)


PLAIN = KernelOptions()  # no element type, and every argument an int64
