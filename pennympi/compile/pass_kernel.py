"""The kernel of a pass, which a backend provides: it does some sweeps of a box in one trip through memory."""

from collections.abc import Callable
from typing import Any, NamedTuple

from ..kernels.sweep.records import Box, Cut
from .options import LaunchBounds

EXCHANGING = 32  # the most blocks that exchange halos before they compute points that need none
# If all blocks of a launch run at a time:
SENDING = 128  # the most blocks that send points of halos
HELPING = 64  # the most blocks that receive halos, if chunks that wait are spared fewer points than SPARED and than half
SPARED = 8  # points along the first dimension


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


class PassLaunch(NamedTuple):
    """A launch of a pass.

    blocks, threads: sizes of the grid and of a block; on a GPU they may be (x, y, z)
    n_waiting: number of blocks that read halos that neighbours send;  first_waiting: number of the first of them
    at_a_time: whether all blocks run at a time, so that more blocks than those that wait may exchange halos
    """

    blocks: Any
    threads: Any
    cut: Cut
    n_waiting: int
    first_waiting: int = 0
    at_a_time: bool = False

    @property
    def most_exchanging(self) -> tuple[int, int]:
        """The most blocks that receive halos, and the most that send points of halos: the first blocks.

        If all blocks run at a time, other blocks than those that wait help them to send, and to receive if they aren't
        spared many points for it.
        """
        if not self.at_a_time:
            receivers = min(self.first_waiting, EXCHANGING) if self.first_waiting else self.n_waiting
            return receivers, receivers
        cut, chunk = self.cut, self.cut.chunk
        shortest = cut.edge_chunk if cut.left or cut.right else cut.tail or chunk - cut.missing
        spared = chunk - shortest
        helping = 0 if spared >= min(SPARED, chunk / 2) else HELPING
        receivers = max(self.n_waiting, min(self.blocks, helping))
        return receivers, max(receivers, min(self.blocks, SENDING))


class PassKernel(NamedTuple):
    """A kernel (ctx, sweeps: Pass) of ``depth`` sweeps, and its launch.

    bounds, shared_bytes: as in ``KernelOptions``; the kernel is compiled with ``fused=False``
    scratch_bytes: size of the memory at the address ``Pass.scratch``
    launch: (box, sides, storage) -> its launch.  sides: 1 for each bound of the box that has a neighbour, else 0
    """

    kernel: Callable[..., None]
    bounds: LaunchBounds | None
    shared_bytes: int
    scratch_bytes: int
    launch: Callable[[Box, Box, Storage], PassLaunch]
