"""What a PE sends after one of its waits has given up, by the host backend's bodies, one PE after another.

``test_machine.py`` tests every kernel, with other bodies.
"""

import re
import threading
from types import SimpleNamespace

import numpy as np
import pytest

from pennympi.compile import context as ctx_words
from pennympi.compile.options import KernelOptions
from pennympi.errors import PeerGaveUp, PeerTimeout
from pennympi.host.device import interrupts
from pennympi.host.device.waits import SPINS_BEFORE_SLEEP
from pennympi.host.runtime.compiler import Compiler
from pennympi.host.runtime.peers import Peers
from pennympi.job import liveness
from pennympi.kernels.block import POISON, Message, get, put, put_signal, send_packets, signal, wait

TIMEOUT_S = 0.005
NEVER, DST, SRC, WORDS, PACKETS, NBYTES = range(0, 6 * 512, 512)  # places in a PE's memory, and its size


class Job:
    """n PEs, each with NBYTES of symmetric memory and a ``ctx``."""

    def __init__(self, n_pes):
        self.memory = np.zeros((n_pes, NBYTES), np.uint8)
        self.bases = [row.ctypes.data for row in self.memory]
        self.pes = []
        for me in range(n_pes):
            ctx, record, silent = (
                np.zeros(n, np.int64) for n in (ctx_words.PEER_OFFSETS + n_pes, ctx_words.RECORD_WORDS, n_pes)
            )
            ctx[ctx_words.ME], ctx[ctx_words.N_PES], ctx[ctx_words.TIMEOUT_NS] = me, n_pes, int(1e9 * TIMEOUT_S)
            ctx[ctx_words.PATIENCE], ctx[ctx_words.RECORD] = SPINS_BEFORE_SLEEP, record.ctypes.data
            ctx[ctx_words.ALIVE], ctx[ctx_words.OWN_ALIVE] = silent.ctypes.data, liveness.own_words_address
            ctx[ctx_words.ABORT], ctx[ctx_words.SIGNALS] = liveness.monitor_words_address, interrupts.address
            ctx[ctx_words.PEER_OFFSETS :] = [base - self.bases[me] for base in self.bases]
            record[ctx_words.RECORD_ME] = me
            pe = SimpleNamespace(_channel=None, me=me, ctx=ctx, ctx_address=ctx.ctypes.data, record=record, silent=silent)
            pe.calls = threading.Lock()
            pe.call_names, pe._timeout_s = {}, TIMEOUT_S
            pe._control = SimpleNamespace(find=lambda pe, tag: f"call {tag}", on_host=lambda pe: "")
            pe._record, pe.failure = record, lambda pe=pe: Peers.failure(pe)
            self.pes.append(pe)

    def view(self, me, offset, count, dtype):
        """PE me's memory as an array (count,)."""
        return self.memory[me, offset : offset + count * np.dtype(dtype).itemsize].view(dtype)

    def launch(self, me, kernel, name, *args):
        Compiler(self.pes[me]).kernel(kernel, name, KernelOptions()).launch(1, args, 0)


def give_up_and_go_on(ctx, never, dst, src, nbytes, word, packets, pe):
    """A wait that never ends; then every primitive that reaches a peer."""
    wait(ctx, never, 1, pe)
    put(ctx, dst, src, nbytes, pe)
    put_signal(ctx, Message(dst, src, nbytes, pe), word, 5)
    signal(ctx, word + 8, 6, pe)
    get(ctx, src, dst, nbytes, pe)
    send_packets(ctx, Message(packets, src, nbytes, pe), 7)


def test_what_a_pe_sends_after_it_gave_up():
    job = Job(2)
    job.view(0, SRC, 128, "u1")[:] = 7
    at = [job.bases[0] + one for one in (NEVER, DST, SRC, WORDS, PACKETS)]
    args = (*at[:3], 128, *at[3:], 1)
    with pytest.raises(PeerTimeout, match="PE 0 waited 0.005 s for PE 1 in text, epoch 1 .last seen: 0.") as first:
        job.launch(0, give_up_and_go_on, "text", *args)
    assert not job.view(1, DST, 128, "u1").any(), "a peer's memory was written"
    assert job.view(1, WORDS, 2, "i8").tolist() == [POISON | 5, POISON | 6]
    assert job.view(1, PACKETS, 1, "i8") == POISON | 7
    assert not isinstance(first.value, PeerGaveUp)
    job.view(1, WORDS, 2, "i8")[:] = 0
    with pytest.raises(PeerTimeout, match="for PE 1 in text"):
        job.launch(0, give_up_and_go_on, "text", *args)
    assert not job.view(1, WORDS, 2, "i8").any(), "a launch after a failure ran"


def pass_on(ctx, word, value, source, pe):
    wait(ctx, word, value, source)
    signal(ctx, word, value, pe)


def test_poison_is_passed_on_and_named():
    """PE 1 waits for PE 0, PE 2 for PE 1 and so on: all waits end when the first PE has given up."""
    job = Job(4)
    for me, message in (
        (1, "PE 1 waited 0.005 s for PE 0 in chain, epoch 9 (last seen: 0)"),
        (2, "PE 2 stopped in chain, epoch 9: PE 1 had given up before"),
        (3, "PE 3 stopped in chain, epoch 9: PE 2 had given up before"),
    ):
        with pytest.raises(PeerTimeout if me == 1 else PeerGaveUp, match=f"^{re.escape(message)}"):
            job.launch(me, pass_on, "chain", job.bases[me] + WORDS, 9, me - 1, (me + 1) % 4)
