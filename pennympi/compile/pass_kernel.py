"""The kernel of a pass, which a backend provides: it does some sweeps of a box in one trip through memory."""

from collections.abc import Callable
from typing import Any, NamedTuple

from ..kernels.sweep.records import Box, Cut
from .options import LaunchBounds


class Storage(NamedTuple):
    """The layout of a sweep's fields in memory, and the processors that sweep them.

    lead:       elements of readable storage before the first element of a row
    plane, row: elements between neighbouring points in x, and in y
    processors: multiprocessors of the GPU; 1 on a CPU
    """

    lead: int
    plane: int
    row: int
    processors: int


class PassKernel(NamedTuple):
    """A kernel (ctx, sweeps: Pass) of ``depth`` sweeps, and its launch.

    bounds, shared_bytes: as in ``KernelOptions``; the kernel is compiled with ``fused=False``
    scratch_bytes: size of the memory at the address ``Pass.scratch``
    launch:  (box, storage) -> blocks, threads of a block, cut; on a GPU blocks and threads may be (x, y, z)
    """

    kernel: Callable[..., None]
    bounds: LaunchBounds | None
    shared_bytes: int
    scratch_bytes: int
    launch: Callable[[Box, Storage], tuple[Any, Any, Cut]]
