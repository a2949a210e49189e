"""Swapping arrays between two PEs."""

from typing import Any

from ..arrays.dtypes import DType
from ..arrays.span import check_pair
from ..backend import Backend, Kernel
from ..call_guard import CallGuard
from ..compile.options import KernelOptions
from ..job.control import signature_of
from ..job.job import Job
from ..kernels.block import EPOCH_BITS
from ..kernels.exchange import TABLE
from ..memory.symmetric import SymmetricArrays
from ..memory.workspace import Workspace, make_workspace
from ..rma import OneSided

PIECE_BYTES = 65536  # of one message of one block
MAX_BLOCKS = 32
MOST_KINDS = 1024  # of exchanges whose signatures are kept


class Exchange:
    """The exchanges of one team."""

    def __init__(self, backend: Backend, job: Job, guard: CallGuard, arrays: SymmetricArrays, rma: OneSided):
        self._backend, self._job, self._arrays, self._rma, self._count = backend, job, arrays, rma, guard.count
        self._blocks = min(MAX_BLOCKS, backend.max_blocks)
        n, blocks = job.n_pes, self._blocks
        # The pairwise forms may be called by two PEs alone, so nothing can be allocated later.
        staged = blocks * PIECE_BYTES if backend.needs_scratch else 0
        self._pair: Workspace = make_workspace(
            backend, job, n * blocks * 2 * PIECE_BYTES, staged, n * blocks * 2, n * blocks
        )
        self._team: Workspace = make_workspace(backend, job, blocks * 2 * PIECE_BYTES, staged, blocks * 2 * n, blocks)
        self._kernels: dict[str, Kernel] = {}
        self._signatures: dict[tuple[Any, ...], tuple[str, int]] = {}  # of what was exchanged: its text and signature

    def call(self, recv: Any, send: Any, pe: int, form: str, handle: int, stream: Any) -> None:
        """Swap with PE ``pe``, in stream order.  Raises TypeError or ValueError."""
        row = TABLE.get(form)
        if row is None:
            raise ValueError(f"form {form!r} is unknown: use one of {', '.join(TABLE)}")
        self._rma.check_pe(pe)
        to, source = self._backend.span(recv, True), self._backend.span(send, False)
        self._arrays.holds(to), self._arrays.holds(source)
        check_pair(to, source, "one array for both", ("recv", "send"))
        me, n = self._job.me, self._job.n_pes
        key = to.count, to.dtype, form, pe
        text, signature = self._signatures.get(key) or self._describe(*key)
        if row.collective:
            self._count(text)
        kernel = self._kernels.get(form) or self._compile(form)
        blocks = max(1, min(self._blocks, -(-to.nbytes // PIECE_BYTES)))
        workspace = self._team if row.collective else self._pair
        arguments = (
            *(me, n, to.address, source.address, to.nbytes, pe),
            *(workspace.inbox, workspace.outbox, workspace.signals, workspace.epochs, workspace.routes),
            *(PIECE_BYTES, signature),
            *(() if row.collective else (self._blocks,)),
        )
        self._backend.order.call(kernel.launch, (blocks, arguments), handle, stream, blocks, workspace.inbox)

    def _describe(self, count: int, dtype: DType, form: str, pe: int) -> tuple[str, int]:
        """An exchange in words that are the same on both PEs, or on all, and its signature."""
        both = "" if TABLE[form].collective else f" between PEs {min(self._job.me, pe)} and {max(self._job.me, pe)}"
        text = f"exchange of {count} {dtype.name}{both}, by {form}"
        if both:
            self._job.control.write_down(text)
        if len(self._signatures) > MOST_KINDS:
            self._signatures.clear()
        found = self._signatures[count, dtype, form, pe] = text, signature_of(text) << EPOCH_BITS
        return found

    def _compile(self, form: str) -> Kernel:
        row = TABLE[form]
        options = KernelOptions(constants={"n_pes": self._job.n_pes})
        kernel = self._backend.kernel(row.kernel, f"exchange ({form})", options)
        self._kernels[form] = kernel
        return kernel
