"""Plans of halo exchanges: the launch, its messages and its workspace."""

from collections.abc import Sequence
from typing import Any

from ..annotations import Plan
from ..collectives.base import CollectiveContext, Prepared
from ..collectives.persistent import plan_of
from ..compile.options import KernelOptions
from ..job.control import signature_of
from ..kernels.block import EPOCH_BITS
from ..kernels.halo.exchange import exchange_halos
from ..kernels.halo.message import PART_WORDS
from ..memory.workspace import make_workspace
from .decomposition import Decomposition
from .messages import Field, Ways, messages_of

DIRECT_MIN_BYTES = {"host": 1 << 16, "cuda": 1 << 18}  # of a message that goes straight into the neighbour's field
PART_BYTES = 16384  # that one block moves, unless the message is smaller


def plan_exchange(
    context: CollectiveContext, grid: Decomposition, spans: Sequence[Any], kept: Any, corners: bool
) -> Plan:
    """A plan that exchanges the halos of fields, spans of symmetric arrays.  Collective.

    Raises ValueError where the PEs give different arrays, SymmetricHeapExhausted.
    """
    backend, job, guard = context.backend, context.job, context.guard
    dtypes = ", ".join(span.dtype.name for span in spans)
    text = f"halo exchange of {dtypes} on {grid.shape}{', corners too' if corners else ''}, plan {guard.next_plan()}"
    guard.count(text)
    by_pointer = [backend.puts_by_pointer(pe) for pe in range(job.n_pes)]
    places = [context.arrays.locate(span.address, 1) for span in spans]
    told = job.gather((by_pointer, places), "halo exchange")
    if any(theirs != places for _, theirs in told):
        raise ValueError("the PEs give different fields: all plan the exchange of the same arrays in the same order")
    ways = Ways([one for one, _ in told], DIRECT_MIN_BYTES[backend.name])
    fields = [Field(span.address, span.dtype.item_bytes) for span in spans]
    messages = messages_of(grid, job.me, fields, corners, ways)
    if not messages.n_messages:  # every halo is of no points
        return plan_of(backend, context.arrays, guard.count, Prepared(_nothing, 0, 0, text), _addresses(spans), kept)
    most = backend.max_blocks // messages.n_messages
    pieces = max(1, min(most, -(-messages.largest_bytes // PART_BYTES)))
    n_parts = messages.n_messages * pieces
    blocks = min(n_parts, backend.max_blocks)
    workspace, release = context.workspaces.kept_for_plan(
        lambda: make_workspace(
            backend, job, 2 * messages.room_bytes, messages.room_bytes, n_parts * PART_WORDS, blocks, messages.words
        )
    )
    memory = (workspace.inbox, workspace.outbox, workspace.signals)
    arguments = (
        *(job.me, workspace.routes, messages.n_messages, pieces, *memory, messages.room_bytes),
        *(*memory, workspace.epochs, workspace.routes, messages.room_bytes, signature_of(text) << EPOCH_BITS),
    )
    try:
        kernel = backend.kernel(exchange_halos, "halo exchange", KernelOptions(constants={"n_pes": job.n_pes}))
        run = kernel.prepare(blocks, arguments, (1, 2))
    except BaseException:
        release()
        raise
    prepared = Prepared(run, blocks if backend.has_streams else 0, workspace.inbox, text, release)
    numbers = workspace.routes, messages.n_messages
    return plan_of(backend, context.arrays, guard.count, prepared, _addresses(spans), kept, numbers)


def _addresses(spans: Sequence[Any]) -> tuple[int, ...]:
    return tuple(span.address for span in spans)


def _nothing(*numbers_and_stream: int) -> None:
    """The launch of an exchange without a message."""
