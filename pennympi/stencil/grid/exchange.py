"""Plans of halo exchanges: the launch, its messages and its workspace."""

import weakref
from collections.abc import Sequence
from typing import Any

from ...annotations import Plan
from ...arrays.array_view import ArrayView
from ...backend import Run
from ...collectives.base import CollectiveContext, Launch
from ...collectives.persistent import plan_of
from ...job.control import tag_of
from ...kernels.block import EPOCH_BITS
from ...kernels.halo.exchange import exchange_halos
from ...kernels.halo.message import SIGNAL_WORDS
from ...kernels.records import Halo
from ...memory.workspace import make_workspace
from .decomposition import Decomposition
from .messages import Ways, messages_of

# A message goes straight into the neighbour's field if it and its lines have at least these sizes.
DIRECT_MIN_BYTES = {"host": 1 << 16, "cuda": 1 << 20, "simulated": 1 << 9}
# A shorter line shares a cache line with points that the neighbour computes, so the cache line travels twice; and it
# fills only a part of an NVLink packet.
DIRECT_MIN_LINE_BYTES = 64
PART_BYTES = {"host": 1 << 14, "cuda": 1 << 12, "simulated": 1 << 8}  # the bytes that one block moves
SENT_PART_BYTES = 1 << 13  # the bytes that a block sends as packets, if more blocks send than receive


class Halos:
    """The halos of fields, and a workspace for their exchange, which is released with this object.

    Making one is collective.  Raises ValueError if the PEs give different arrays, SymmetricHeapExhausted.
    most_receivers, most_senders: the most blocks that receive, and that send; 0: as many as the backend allows
    halo: the record that kernels take
    receivers, senders: number of blocks of a launch that receive, and that send, which are at least as many
    text: describes the exchange, the same on every PE
    """

    def __init__(
        self,
        context: CollectiveContext,
        grid: Decomposition,
        views: Sequence[ArrayView],
        corners: bool,
        most_receivers: int = 0,
        most_senders: int = 0,
    ):
        backend, job = context.backend, context.job
        max_blocks = [min(blocks or backend.max_blocks, backend.max_blocks) for blocks in (most_receivers, most_senders)]
        dtypes, edges = ", ".join(view.dtype.name for view in views), ", corners too" if corners else ""
        self.text = f"halo exchange of {dtypes} on {grid.shape}{edges}, plan {context.guard.next_plan()}"
        context.guard.enter(self.text)
        by_pointer = [backend.peers.by_pointer[pe] for pe in range(job.n_pes)]
        places = [context.arrays.locate(view.address, 1) for view in views]
        replies = job.gather((by_pointer, places, max_blocks), "halo exchange")
        if any(places_of_pe != places for _, places_of_pe, _ in replies):
            raise ValueError("the PEs give different fields: give the same arrays in the same order on every PE")
        least_bytes = DIRECT_MIN_BYTES[backend.name], DIRECT_MIN_LINE_BYTES
        ways = Ways([by_pointer_of_pe for by_pointer_of_pe, *_ in replies], context.topology, *least_bytes)
        messages = messages_of(grid, job.me, views, corners, ways)

        def parts_of(blocks: int, nbytes: int) -> int:
            """Number of parts of a message that as many blocks move, if none moves fewer bytes."""
            return max(1, min(blocks // max(1, messages.most_rows), -(-messages.largest_bytes // nbytes)))

        receivers, senders = map(min, zip(*(blocks for *_, blocks in replies), strict=True))
        n_parts = parts_of(receivers, PART_BYTES[backend.name])
        n_sent_parts = parts_of(senders, SENT_PART_BYTES) if senders > receivers else n_parts
        parts, inbox_bytes = messages.parts(n_parts, n_sent_parts), messages.inbox_bytes
        n_signals = messages.n_numbers * n_parts * SIGNAL_WORDS
        workspace, release = context.workspaces.kept_for_plan(
            lambda: make_workspace(backend, job, 2 * inbox_bytes, inbox_bytes, n_signals, parts.most_rows, parts.words)
        )
        weakref.finalize(self, release).atexit = False
        memory = (workspace.inbox, workspace.outbox, workspace.signals, workspace.epochs)
        self.halo = Halo(job.me, workspace.peer_table, *parts.counts, *memory, inbox_bytes)
        self.receivers = min(self.halo.n_received, max_blocks[0])
        self.senders = max(self.receivers, min(self.halo.n_sent, max_blocks[1]))


def plan_exchange(
    context: CollectiveContext, grid: Decomposition, views: Sequence[ArrayView], kept: Sequence[Any], corners: bool
) -> Plan:
    """A plan that exchanges the halos of fields.  Collective.  Raises as ``Halos``.  kept: the arrays of the fields"""
    backend, halos = context.backend, Halos(context, grid, views, corners)
    halo, tag = halos.halo, tag_of(halos.text) << EPOCH_BITS
    work = (halo.inbox, halo.outbox, halo.signals, halo.epochs, halo.rows, halo.inbox_bytes, tag)
    run: Run = _nothing
    if halos.senders:
        kernel = backend.compiler.kernel(exchange_halos, "halo exchange")
        run = kernel.prepare(halos.senders, (*halo, *work), (1, 2))
    launch = Launch(run, backend.has_streams and halos.senders > 0, halos.text)
    addresses, numbers = tuple(view.address for view in views), (halo.rows, halo.n_received)
    return plan_of(backend, context.arrays, context.guard.count, launch, addresses, (*kept, halos), numbers)


def _nothing(*numbers_and_stream: int) -> None:
    """The launch of an exchange that has no messages."""
