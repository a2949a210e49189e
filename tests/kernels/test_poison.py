"""A PE that gave up hands on nothing but poison, by the bodies of the host backend.

``test_machine_poison.py`` has every kernel, with bodies of its own; here are compiled ones, one row for each kind of
message, with PEs on threads.  One PE is late, and comes when another, which had no patience, has given up and gone
through the rest of its kernel: what that one sent would complete the others' results.
"""

import threading
from types import SimpleNamespace

import numpy as np
import pytest
from mpi4py import MPI
from reductions import expected, own

from pennympi.arrays.dtypes import TABLE as DTYPES
from pennympi.collectives.base import constants
from pennympi.compile import context as ctx_words
from pennympi.compile.bind import parameters
from pennympi.compile.options import KernelOptions
from pennympi.errors import PeerGaveUp, PeerTimeout, PennympiError
from pennympi.host.backend import HostBackend
from pennympi.host.primitives import PATIENT_SPINS
from pennympi.job import liveness
from pennympi.kernels.algorithm import Limits, Place
from pennympi.kernels.allreduce import TABLE
from pennympi.kernels.block import POISON, get, put, put_signal, signal, wait

if MPI.COMM_WORLD.Get_size() > 1:
    pytest.skip("the PEs are threads of one process: run these tests without mpirun", allow_module_level=True)

N, COUNT, HALF_BYTES = 4, 3000, 1 << 14  # several pieces each
LONG_S, HASTY_S = 20.0, 0.005  # a deadline that is not meant to pass, and one that is
LATE_AND_HASTY = [(0, 1), (3, 2), (1, 3)]
ROWS = ("ring", "one_shot", "one_shot_packets", "two_shot_packets", "hierarchical_packets", "nvls")


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


def allreduce(row):
    """(machine, what PE me does: a call of the row on int32, whether its result is right)."""
    machine, place = Machine(N, 1 << 18, LONG_S), Place((0, 0, 1, 1), True, True)
    plan = row.plan(COUNT, 4, 4, place, Limits(1, HALF_BYTES))
    sizes = dict(inbox=2 * HALF_BYTES, outbox=2 * HALF_BYTES, signals=8 * row.signals(place), epochs=8)
    at = {name: machine.allocate(nbytes) for name, nbytes in (sizes | dict(src=4 * COUNT, out=4 * COUNT)).items()}
    numbers = dict(
        n_elems=COUNT, piece_elems=plan.piece_elems, buffer_bytes=HALF_BYTES, n_pes=N, item_bytes=4, acc_bytes=4
    )
    numbers |= dict(root=0, reach=1, residual=0, signature=0)
    options = dict(reduction=(DTYPES["int32"], "sum"), constants=constants(row.kernel, DTYPES["int32"], N))
    kernels, wanted = machine.kernels(row.kernel, row.name, **options), expected("int32", "sum", N, COUNT)

    def call(me):
        machine.view(me, at["src"], COUNT, "i4")[:] = own("int32", "sum", N, me, COUNT)
        machine.view(me, at["out"], COUNT, "i4")[:] = 0
        routes = np.array(row.routes(place, me) if row.routes else (), np.int64)
        known = numbers | {name: machine.address(me, offset) for name, offset in at.items()}
        known |= dict(me=me, routes=routes.ctypes.data)
        kernels[me].launch(1, [known[name] for name in parameters(row.kernel)[1:]], 0)
        return np.array_equal(machine.view(me, at["out"], COUNT, "i4"), wanted)

    return machine, call


@pytest.mark.parametrize("row", ROWS)
def test_no_row_returns_a_wrong_result(row):
    gave_up = 0
    for late, hasty in LATE_AND_HASTY:
        machine, call = allreduce(TABLE[row])
        assert machine.run(call) == [True] * N
        machine.memory[:, : 2 * HALF_BYTES] = 255  # the inboxes: what is left of the first call is nowhere
        done = threading.Event()

        def one(me, late=late, hasty=hasty, call=call, done=done):
            assert me != late or done.wait(LONG_S)
            try:
                return call(me)
            finally:
                if me == hasty:
                    done.set()

        machine.pes[hasty].ctx[ctx_words.TIMEOUT_NS] = int(1e9 * HASTY_S)
        ended = machine.run(one)
        assert all(one is True or isinstance(one, PeerTimeout) for one in ended), (late, hasty, ended)
        gave_up += isinstance(ended[hasty], PeerTimeout)
    assert gave_up, "no PE waits for another"


def give_up_and_go_on(ctx, never, dst, src, nbytes, word, pe):
    """A wait that nobody ends; then all that reaches a peer."""
    wait(ctx, never, 1, pe)
    put(ctx, dst, src, nbytes, pe)
    put_signal(ctx, dst, src, nbytes, word, 5, pe)
    signal(ctx, word + 8, 6, pe)
    get(ctx, src, dst, nbytes, pe)


def test_what_a_pe_sends_after_it_gave_up():
    machine = Machine(2, 4096, HASTY_S)
    never, dst, src, words = (machine.allocate(128) for _ in range(4))
    machine.view(0, src, 128, "u1")[:] = 7
    kernel = machine.kernels(give_up_and_go_on, "text")[0]
    args = (*(machine.address(0, one) for one in (never, dst, src)), 128, machine.address(0, words), 1)
    with pytest.raises(PeerTimeout, match="PE 0 waited 0.005 s for PE 1 in text, epoch 1 .last seen: 0.") as first:
        kernel.launch(1, args, 0)
    assert not machine.view(1, dst, 128, "u1").any(), "a peer's memory was written"
    assert machine.view(1, words, 2, "i8").tolist() == [POISON | 5, POISON | 6]
    assert not isinstance(first.value, PeerGaveUp)
    machine.view(1, words, 2, "i8")[:] = 0
    with pytest.raises(PeerTimeout, match="for PE 1 in text"):
        kernel.launch(1, args, 0)
    assert not machine.view(1, words, 2, "i8").any(), "a launch after a failure ran"


def test_poison_is_passed_on_and_named():
    """PE 1 waits for PE 0, PE 2 for PE 1 and so on: all end with the first one's deadline."""
    machine = Machine(4, 4096, LONG_S)
    words = machine.allocate(64)
    machine.pes[1].ctx[ctx_words.TIMEOUT_NS] = int(1e9 * HASTY_S)
    kernels = machine.kernels(pass_on, "chain")

    def program(me):
        if me > 0:
            kernels[me].launch(1, (machine.address(me, words), 9, me - 1, (me + 1) % 4), 0)

    ended = machine.run(program)
    assert str(ended[1]).startswith(f"PE 1 waited {LONG_S:g} s for PE 0 in chain, epoch 9 (last seen: 0)")
    for me in (2, 3):
        assert isinstance(ended[me], PeerGaveUp)
        assert str(ended[me]).startswith(f"PE {me} stopped in chain, epoch 9: PE {me - 1} had given up before")


def pass_on(ctx, word, value, source, pe):
    wait(ctx, word, value, source)
    signal(ctx, word, value, pe)
