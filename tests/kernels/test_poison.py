"""A PE that gave up hands on nothing but poison: whoever gets a result gets the right one.

The compiled texts of the host backend run with PEs on threads.  One PE is late, and comes when another, which had no
patience, has given up and gone through the rest of its text: what that one sent would complete the others' results.
"""

import threading

import numpy as np
import pytest
from collective_cases import CASES, Call
from mpi4py import MPI
from reductions import expected, own
from threaded_pes import LONG_S, Machine, Workspace

from pennympi.compile import context as ctx_words
from pennympi.errors import PeerGaveUp, PeerTimeout
from pennympi.kernels.allreduce import PLANNED, TABLE
from pennympi.kernels.block import POISON, get, put, put_signal, signal, wait
from pennympi.kernels.exchange import TABLE as FORMS

if MPI.COMM_WORLD.Get_size() > 1:
    pytest.skip("the PEs are threads of one process: run these tests without mpirun", allow_module_level=True)

N, COUNT, HALF_BYTES = 4, 3000, 1 << 14  # several pieces each
HASTY_S = 0.005
LATE_AND_HASTY = [(0, 1), (3, 2), (1, 3)]
ROWS = [("allreduce", row) for row in (TABLE | PLANNED).values()]
ROWS += [(name, row) for name, case in CASES.items() for row in case.table.values()]


def fail_one(machine, late, hasty, program):
    """program(me) on all PEs, on the late one when the hasty one is done: what each returned or raised."""
    done = threading.Event()

    def one(me):
        if me == late:
            assert done.wait(LONG_S)
        try:
            return program(me)
        finally:
            if me == hasty:
                done.set()

    machine.pes[hasty].ctx[ctx_words.TIMEOUT_NS] = int(1e9 * HASTY_S)
    ended = machine.run(one)
    machine.pes[hasty].ctx[ctx_words.TIMEOUT_NS] = int(1e9 * LONG_S)
    return ended


class Calls:
    """Calls of one row by N PEs; ``program`` makes this PE's and tells whether its result is right."""

    def __init__(self, collective, row):
        self.case, self.row = CASES.get(collective), row
        calls = [Call("int32", "sum", N, me, N - 1, COUNT) for me in range(N)]
        self.given = [self.case.x(call) if self.case else own("int32", "sum", N, call.me, COUNT) for call in calls]
        self.wanted = [self.case.out(call) if self.case else expected("int32", "sum", N, COUNT) for call in calls]
        self.machine = Machine(N, 1 << 18, LONG_S)
        place = (0, 0, 1, 1) if row.name.startswith("hierarchical") else (0,) * N
        reduces = self.case is None or self.case.reduces
        self.workspace = Workspace(
            self.machine, row, f"{collective} ({row.name})", place, HALF_BYTES, COUNT, N - 1, reduces
        )
        self.x = self.out = self.machine.allocate(4 * N * COUNT)
        if not (self.case and self.case.one_array):
            self.out = self.machine.allocate(4 * N * COUNT)

    def scribble(self):
        """Between two calls: what is left of the first is nowhere."""
        self.workspace.scribble()
        for me in range(N):
            self.machine.view(me, self.out, 4 * N * COUNT, "u1")[:] = 255

    def program(self, me):
        given, wanted = self.given[me], self.wanted[me]
        self.machine.view(me, self.x, given.size, "i4")[:] = given
        self.workspace.call(me, self.x, self.out)
        if wanted is None:
            return True
        result = self.machine.view(me, self.out, wanted.size, "i4")
        if self.row.copied:  # the copy engines do the rest: here only this PE's own chunk
            chunk = self.row.copied(COUNT, N)
            result, wanted = (one[me * chunk :][:chunk] for one in (result, wanted))
        return np.array_equal(result, wanted)


@pytest.mark.parametrize(("collective", "row"), ROWS, ids=[f"{name}-{row.name}" for name, row in ROWS])
def test_no_row_returns_a_wrong_result(collective, row):
    gave_up = 0
    for late, hasty in LATE_AND_HASTY:
        calls = Calls(collective, row)
        assert calls.machine.run(calls.program) == [True] * N
        calls.scribble()
        ended = fail_one(calls.machine, late, hasty, calls.program)
        assert all(one is True or isinstance(one, PeerTimeout) for one in ended), (late, hasty, ended)
        gave_up += isinstance(ended[hasty], PeerTimeout)
    assert gave_up, "no PE waits for another"


@pytest.mark.parametrize("form", FORMS)
def test_no_exchange_returns_a_wrong_result(form):
    machine, nbytes, piece = Machine(2, 1 << 15, LONG_S), 3000, 1024
    inbox, outbox = machine.allocate(2 * 2 * piece), machine.allocate(piece)
    words, epochs = machine.allocate(2 * 2 * 8), machine.allocate(2 * 8)
    recv, send = machine.allocate(nbytes), machine.allocate(nbytes)
    kernels = machine.kernels(FORMS[form].kernel, f"exchange ({form})")

    def program(me):
        at = [machine.address(me, one) for one in (recv, send, inbox, outbox, words, epochs)]
        machine.view(me, recv, nbytes, "u1")[:] = 0
        machine.view(me, send, nbytes, "u1")[:] = 10 + me
        max_blocks = () if FORMS[form].collective else (1,)
        kernels[me].launch(1, (me, 2, *at[:2], nbytes, 1 - me, *at[2:], 0, piece, 0, *max_blocks), 0)
        return bool((machine.view(me, recv, nbytes, "u1") == 11 - me).all())

    assert machine.run(program) == [True] * 2
    ended = fail_one(machine, 0, 1, program)
    assert [type(one) for one in ended] == [PeerGaveUp, PeerTimeout]


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
