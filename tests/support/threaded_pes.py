"""PEs of the host backend as threads of one process: what a test drives that wants them late, or giving up."""

import threading
from types import SimpleNamespace

import numpy as np

from pennympi.arrays.dtypes import TABLE as DTYPES
from pennympi.collectives.base import constants
from pennympi.compile import context as ctx_words
from pennympi.compile.bind import parameters
from pennympi.compile.options import KernelOptions
from pennympi.errors import PennympiError
from pennympi.host.backend import HostBackend
from pennympi.host.primitives import PATIENT_SPINS
from pennympi.job import liveness
from pennympi.kernels.algorithm import Limits, Place
from pennympi.kernels.block import EPOCH_BITS

LONG_S = 20.0  # a deadline that is not meant to pass


class Machine:
    """n PEs, each with ``nbytes`` of symmetric memory and a ``ctx`` of its own, whose deadline a test may change."""

    def __init__(self, n_pes, nbytes, timeout_s):
        self.n_pes, self.memory = n_pes, np.zeros((n_pes, nbytes), np.uint8)
        bases = [row.ctypes.data for row in self.memory]
        self.pes, self._used = [], 0
        for me in range(n_pes):
            ctx, record, silent = (
                np.zeros(n, np.int64) for n in (ctx_words.DELTAS + n_pes, ctx_words.RECORD_WORDS, n_pes)
            )
            ctx[ctx_words.ME], ctx[ctx_words.N_PES], ctx[ctx_words.TIMEOUT_NS] = me, n_pes, int(1e9 * timeout_s)
            ctx[ctx_words.PATIENCE], ctx[ctx_words.RECORD] = PATIENT_SPINS, record.ctypes.data
            ctx[ctx_words.ALIVE], ctx[ctx_words.OWN_ALIVE] = silent.ctypes.data, liveness.own_words_address
            ctx[ctx_words.ABORT] = liveness.watch_words_address
            ctx[ctx_words.DELTAS :] = [base - bases[me] for base in bases]
            pe = SimpleNamespace(_channel=None, me=me, ctx=ctx, ctx_address=ctx.ctypes.data, record=record, silent=silent)
            pe.calls = threading.Lock()
            pe.call_names, pe.comm, pe.timeout_s = {}, SimpleNamespace(rank=me), timeout_s
            pe._find_call, pe._where = lambda pe, signature: f"call {signature}", lambda pe: ""
            pe._record, pe.failure = record, lambda pe=pe: HostBackend.failure(pe)
            self.pes.append(pe)

    def allocate(self, nbytes):
        """Offset of symmetric memory."""
        self._used += -(-nbytes // 128) * 128
        assert self._used <= self.memory.shape[1]
        return self._used - -(-nbytes // 128) * 128

    def view(self, me, offset, count, dtype):
        """PE me's memory as an array (count,)."""
        return self.memory[me, offset : offset + count * np.dtype(dtype).itemsize].view(dtype)

    def address(self, me, offset):
        return self.memory[me].ctypes.data + offset

    def kernels(self, kernel, name, **options):
        """The kernel for each PE, compiled by this thread: the compiler is not made for several."""
        return [HostBackend.kernel(pe, kernel, name, KernelOptions(**options)) for pe in self.pes]

    def run(self, program):
        """program(me) on a thread for each PE: what each returned, or its error."""
        ended = [None] * self.n_pes

        def one(me):
            try:
                ended[me] = program(me)
            except PennympiError as failure:
                ended[me] = failure

        threads = [threading.Thread(target=one, args=(me,)) for me in range(self.n_pes)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(LONG_S)
            assert not thread.is_alive(), "a PE hangs"
        return ended


class Workspace:
    """A row's workspace on a Machine, and its launches."""

    def __init__(self, machine, row, name, place, buffer_bytes, count, root, reduces):
        self._machine, self._row = machine, row
        self._place = Place(place, True, True)
        plan = row.plan(count, 4, 4, self._place, Limits(1, buffer_bytes))
        sizes = dict(inbox=2 * buffer_bytes, outbox=2 * buffer_bytes, signals=8 * row.signals(self._place), epochs=8)
        self._at = {what: machine.allocate(nbytes) for what, nbytes in sizes.items()}
        self._numbers = dict(n_elems=count, piece_elems=plan.piece_elems, buffer_bytes=buffer_bytes, root=root, reach=1)
        self._numbers |= dict(n_pes=machine.n_pes, item_bytes=4, acc_bytes=4, residual=0, signature=0)
        self._numbers |= dict(nbytes=4 * count, piece_bytes=4 * plan.piece_elems)
        dtype = DTYPES["int32"]
        fixed = constants(row.kernel, dtype, machine.n_pes)
        reduction = (dtype, "sum") if reduces else None
        self._kernels = machine.kernels(row.kernel, name, reduction=reduction, constants=fixed)

    def scribble(self):
        """Between two calls: what was in the inboxes is read by nobody, and looks like no epoch."""
        for me in range(self._machine.n_pes):
            inbox_bytes = 2 * self._numbers["buffer_bytes"]
            self._machine.view(me, self._at["inbox"], inbox_bytes, "u1")[:] = 255

    def call(self, me, src, out, signature=0, **other):
        """One call on PE me of int32; src and out are offsets.  Raises PeerTimeout, CollectiveMismatchError.

        other: numbers of the call in place of the workspace's own
        """
        at = {what: self._machine.address(me, offset) for what, offset in (*self._at.items(), ("src", src), ("out", out))}
        routes = np.array(self._row.routes(self._place, me) if self._row.routes else (), np.int64)
        values = {
            **self._numbers,
            **at,
            "me": me,
            "routes": routes.ctypes.data,
            "signature": signature << EPOCH_BITS,
            **other,
        }
        self._kernels[me].launch(1, [values[one] for one in parameters(self._row.kernel)[1:]], 0)
