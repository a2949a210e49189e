"""What a PE sends once one of its waits has given up, by the host backend's implementations, with PEs on threads.

``test_machine_poison.py`` has every kernel, with implementations of its own.
"""

import threading
from types import SimpleNamespace

import numpy as np
import pytest

from pennympi.compile import context as ctx_words
from pennympi.compile.options import KernelOptions
from pennympi.errors import PeerGaveUp, PeerTimeout, PennympiError
from pennympi.host.compiler import Compiler
from pennympi.host.peers import Peers
from pennympi.host.waits import SPINS_BEFORE_SLEEP
from pennympi.job import liveness
from pennympi.kernels.block import POISON, get, put, put_signal, send_packets, signal, wait

LONG_S, HASTY_S = 20.0, 0.005  # a deadline that is not meant to pass, and one that is


class Machine:
    """n PEs, each with ``nbytes`` of symmetric memory and a ``ctx`` of its own, whose deadline a test may change."""

    def __init__(self, n_pes, nbytes, timeout_s):
        self.n_pes, self.memory = n_pes, np.zeros((n_pes, nbytes), np.uint8)
        bases = [row.ctypes.data for row in self.memory]
        self.pes, self._used = [], 0
        for me in range(n_pes):
            ctx, record, silent = (
                np.zeros(n, np.int64) for n in (ctx_words.PEER_OFFSETS + n_pes, ctx_words.RECORD_WORDS, n_pes)
            )
            ctx[ctx_words.ME], ctx[ctx_words.N_PES], ctx[ctx_words.TIMEOUT_NS] = me, n_pes, int(1e9 * timeout_s)
            ctx[ctx_words.PATIENCE], ctx[ctx_words.RECORD] = SPINS_BEFORE_SLEEP, record.ctypes.data
            ctx[ctx_words.ALIVE], ctx[ctx_words.OWN_ALIVE] = silent.ctypes.data, liveness.own_words_address
            ctx[ctx_words.ABORT] = liveness.monitor_words_address
            ctx[ctx_words.PEER_OFFSETS :] = [base - bases[me] for base in bases]
            record[ctx_words.RECORD_ME] = me
            pe = SimpleNamespace(_channel=None, me=me, ctx=ctx, ctx_address=ctx.ctypes.data, record=record, silent=silent)
            pe.calls = threading.Lock()
            pe.call_names, pe._timeout_s = {}, timeout_s
            pe._control = SimpleNamespace(find=lambda pe, tag: f"call {tag}", on_host=lambda pe: "")
            pe._record, pe.failure = record, lambda pe=pe: Peers.failure(pe)
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
        return [Compiler(pe).kernel(kernel, name, KernelOptions(**options)) for pe in self.pes]

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


def give_up_and_go_on(ctx, never, dst, src, nbytes, word, packets, pe):
    """A wait that never ends; then every primitive that reaches a peer."""
    wait(ctx, never, 1, pe)
    put(ctx, dst, src, nbytes, pe)
    put_signal(ctx, dst, src, nbytes, word, 5, pe)
    signal(ctx, word + 8, 6, pe)
    get(ctx, src, dst, nbytes, pe)
    send_packets(ctx, packets, src, nbytes, 7, pe)


def test_what_a_pe_sends_after_it_gave_up():
    machine = Machine(2, 4096, HASTY_S)
    never, dst, src, words, packets = (machine.allocate(512) for _ in range(5))
    machine.view(0, src, 128, "u1")[:] = 7
    kernel = machine.kernels(give_up_and_go_on, "text")[0]
    at = [machine.address(0, one) for one in (never, dst, src, words, packets)]
    args = (*at[:3], 128, *at[3:], 1)
    with pytest.raises(PeerTimeout, match="PE 0 waited 0.005 s for PE 1 in text, epoch 1 .last seen: 0.") as first:
        kernel.launch(1, args, 0)
    assert not machine.view(1, dst, 128, "u1").any(), "a peer's memory was written"
    assert machine.view(1, words, 2, "i8").tolist() == [POISON | 5, POISON | 6]
    assert machine.view(1, packets, 1, "i8") == POISON | 7
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
