"""The norms of a plan of sweeps, and the words from which they are computed."""

from collections.abc import Callable
from typing import Any

from ...annotations import AnyStream
from ...arrays.dtypes import TABLE
from ...collectives.base import CollectiveContext
from ...compile.options import KernelOptions
from ...kernels.sweep.norm import COPIES, LEVEL_BYTES, LEVELS_OF_BLOCK, WORDS, clear_words, norms_of_words

THREADS = 256


class SweepNorm:
    """Norms of ``levels`` sweeps, with the same bits on any number of PEs.  Making one is collective.

    On one stream: ``clear``, then the kernels of the sweeps, which add to the words, then ``finish``.
    norms: float64 (levels,) of the device, which ``finish`` writes
    """

    def __init__(self, context: CollectiveContext, plan_allreduce: Callable[..., Any], levels: int):
        backend = context.backend
        integers, floats, handle = TABLE["int64"], TABLE["float64"], backend.streams.handle(None)
        self._words = backend.heap.new((levels, COPIES, WORDS), integers, handle)
        self.norms = backend.heap.new((levels,), floats, handle)
        self._handle_of, self._words_address = backend.streams.handle, backend.heap.array_view(self._words, True).address
        self._norms_address = backend.heap.array_view(self.norms, True).address
        self._allreduce = plan_allreduce(self._words) if context.job.n_pes > 1 else None
        blocks = -(-levels // LEVELS_OF_BLOCK)
        clear = backend.compiler.kernel(clear_words, "norms of sweeps", KernelOptions(elements=integers))
        self._clear = clear.prepare(blocks, (0, 0), (0, 1), THREADS)
        read = backend.compiler.kernel(norms_of_words, "norms of sweeps", KernelOptions(elements=floats))
        self._read = read.prepare(blocks, (0, 0, levels), (0, 1), THREADS)

    def words(self, level: int) -> int:
        """Address of the words of a level; the words of the later levels follow."""
        return self._words_address + level * LEVEL_BYTES

    def clear(self, stream: AnyStream | None) -> None:
        """Enqueue: set the words to 0."""
        self._clear(self._words_address, len(self.norms), self._handle_of(stream))

    def finish(self, stream: AnyStream | None) -> None:
        """Enqueue the sum over the PEs, and the norms.  Collective."""
        if self._allreduce:
            self._allreduce(stream=stream)
        self._read(self._norms_address, self._words_address, self._handle_of(stream))
