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
    """A kernel (ctx, fields: SweepFields, box: Box, live: Box, cut: Cut, values: Elements, words, scratch): new[box] =
    ``depth`` sweeps of old, and how it is launched.

    values:  address of the formula's numbers
    words:   address of the norm's words of the first level that has a norm, int64 (levels, COPIES, WORDS); 0: none
    scratch: address of ``scratch_bytes`` bytes of this PE, on multiples of 64 bytes
    bounds, shared_bytes: as in ``KernelOptions``; the kernel is compiled with ``fused=False``
    launch:  (box, storage) -> blocks, threads of a block, cut; on a GPU the first two may be (x, y, z)
    """

    kernel: Callable[..., None]
    bounds: LaunchBounds | None
    shared_bytes: int
    scratch_bytes: int
    launch: Callable[[Box, Storage], tuple[Any, Any, Cut]]
