"""What a backend gives for a pass: some sweeps of a box for one trip through memory."""

from collections.abc import Callable
from typing import Any, NamedTuple

from ..kernels.sweep.records import Box, Cut
from .options import LaunchBounds


class Storage(NamedTuple):
    """How the fields of a sweep lie in memory, and on what they are swept.

    lead:       elements of storage before the first one of a row, which may be read
    plane, row: elements from a point to the next one in x, and in y
    processors: multiprocessors of the GPU; 1 on a CPU
    """

    lead: int
    plane: int
    row: int
    processors: int


class PassKernel(NamedTuple):
    """A kernel (ctx, sweeps: Pass) of ``depth`` sweeps, and how it is launched.

    bounds, shared_bytes: as in ``KernelOptions``; the kernel is compiled with ``fused=False``
    scratch_bytes: of memory at the address ``Pass.scratch``
    launch:  (box, storage) -> blocks, threads of a block, cut; on a GPU the first two may be (x, y, z)
    """

    kernel: Callable[..., None]
    bounds: LaunchBounds | None
    shared_bytes: int
    scratch_bytes: int
    launch: Callable[[Box, Storage], tuple[Any, Any, Cut]]
