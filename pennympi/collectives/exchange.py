"""Exchanges: two PEs swap arrays."""

from typing import Any

from ..arrays.array_view import check_pair
from ..arrays.dtypes import DType
from ..call_guard import check_pe
from ..compile.options import KernelOptions
from ..job.control import tag_of
from ..kernels.block import EPOCH_BITS
from ..kernels.exchange import TABLE
from ..kernels.packets import GROUP_DATA_BYTES
from ..kernels.plans import packed_bytes
from ..kernels.records import Message
from ..memory.symmetric import KeptChecks, keep
from ..memory.workspace import make_workspace
from .base import CollectiveContext, Launch

PIECE_BYTES = 65536  # bytes in a message of a block
MAX_BLOCKS = 32
SLOT_BYTES, MAX_PACKET_BLOCKS = 16384, 128  # of a message as packets
LEAST_PACKET_BYTES = 4080  # that a block sends as packets, unless there are fewer
DST, SRC = 2, 3  # indices of the addresses among a kernel's parameters


def _parts(nbytes: int, part_bytes: int) -> int:
    """The number of parts of a message, at least one."""
    return max(1, -(-nbytes // part_bytes))


class Exchange:
    """The exchanges of one team."""

    def __init__(self, context: CollectiveContext):
        backend, job = self._backend, self._job = context.backend, context.job
        self._arrays, self._count, self._topology = context.arrays, context.guard.count, context.topology
        self._blocks = min(MAX_BLOCKS, backend.max_blocks)
        self._packet_blocks = min(MAX_PACKET_BLOCKS, backend.max_blocks)
        n, blocks = job.n_pes, self._blocks
        # Two PEs alone may call the pairwise forms, so this allocates the memory of all calls.
        staged = blocks * PIECE_BYTES if backend.peers.needs_scratch else 0
        self._pair = make_workspace(backend, job, n * blocks * 2 * PIECE_BYTES, staged, n * blocks * 2, n * blocks)
        self._team = make_workspace(backend, job, blocks * 2 * PIECE_BYTES, staged, blocks * 2 * n, blocks)
        packet_slots = n * self._packet_blocks
        self._packets = make_workspace(backend, job, packet_slots * 2 * SLOT_BYTES, 0, 0, packet_slots)
        self._run_in_order = backend.streams.order.enqueue
        self._launches: dict[tuple[Any, ...], Launch] = {}
        self._kept = KeptChecks(backend).result

    def swap(self, recv: Any, send: Any, pe: int, form: str, handle: int, stream: Any) -> None:
        """Swap with PE ``pe``, in stream order.  Raises TypeError or ValueError."""
        (run, _, text), addresses = self._kept(self._launch_of, recv, send, pe, form)
        if text:
            self._count(text)
        self._run_in_order(run, addresses, handle, stream)

    def _launch_of(self, recv: Any, send: Any, pe: int, form: str) -> tuple[Launch, tuple[int, ...]]:
        """The launch and the addresses that it takes.  Raises TypeError or ValueError."""
        chosen = TABLE.get(form)
        if chosen is None:
            raise ValueError(f"form {form!r} is unknown: use one of {', '.join(TABLE)}")
        check_pe(pe, self._job.n_pes)
        dst, src = self._backend.heap.array_view(recv, True), self._backend.heap.array_view(send, False)
        self._arrays.holds(dst)
        self._arrays.holds(src)
        check_pair(dst, src, "one array for both", ("recv", "send"))
        aligned = not (dst.address | src.address | dst.nbytes) & 15
        key = dst.count, dst.dtype, form, int(pe), aligned
        launch = self._launches.get(key) or keep(self._launches, key, self._compile(*key))
        return launch, (dst.address, src.address)

    def _compile(self, count: int, dtype: DType, form: str, pe: int, aligned: bool) -> Launch:
        """A launch.  Its text is "" for a call of two PEs alone, which other PEs do not count."""
        if form == "packets" and not self._packets_to(pe):
            form = "put_signal"
        chosen, me, n = TABLE[form], self._job.me, self._job.n_pes
        pair = "" if chosen.collective else f" between PEs {min(me, pe)} and {max(me, pe)}"
        text = f"exchange of {count} {dtype.name}{pair}, by {form}"
        if pair:
            self._job.control.write_down(text)
        nbytes = count * dtype.item_bytes
        extra: tuple[int, ...]
        if form == "packets":
            blocks = min(self._packet_blocks, _parts(nbytes, LEAST_PACKET_BYTES))
            piece_bytes = min(packed_bytes(SLOT_BYTES), _parts(nbytes, blocks * GROUP_DATA_BYTES) * GROUP_DATA_BYTES)
            workspace, buffer_bytes, extra = self._packets, SLOT_BYTES, (self._packet_blocks, piece_bytes)
        else:
            blocks = min(self._blocks, _parts(nbytes, PIECE_BYTES))
            workspace, extra = (self._team, ()) if chosen.collective else (self._pair, (self._blocks,))
            buffer_bytes = PIECE_BYTES
        arguments = (me, n, *Message(0, 0, nbytes, pe), *workspace.work(buffer_bytes, tag_of(text) << EPOCH_BITS), *extra)
        options = KernelOptions(constants={"n_pes": n}, aligned=aligned)
        kernel = self._backend.compiler.kernel(chosen.kernel, f"exchange ({form})", options)
        return Launch(kernel.prepare(blocks, arguments, (DST, SRC)), True, "" if pair else text)

    def _packets_to(self, pe: int) -> bool:
        """Whether packets go to a PE and back."""
        return self._backend.peers.by_pointer[pe] and self._topology.packets_between(self._job.me, pe)
