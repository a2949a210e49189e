"""PEs that make different calls of a row: compiled kernels of the host backend, with PEs on threads."""

from random import Random

import pytest
from collective_cases import CASES
from mpi4py import MPI
from seed import SEED
from threaded_pes import LONG_S, Machine, Workspace

from pennympi.compile import context as ctx_words
from pennympi.errors import CollectiveMismatchError, PeerTimeout
from pennympi.kernels.allreduce import PLANNED, TABLE

if MPI.COMM_WORLD.Get_size() > 1:
    pytest.skip("the PEs are threads of one process: run these tests without mpirun", allow_module_level=True)

SAMPLES = 5  # each compiles a row
COUNT, BUFFER_BYTES = 3000, 1 << 14  # several pieces each
SHORT_S, GUARD_BYTES, GUARD = 1.0, 4096, 0x5A
ROWS = [("allreduce", row) for row in (TABLE | PLANNED).values()]
ROWS += [(name, row) for name, case in CASES.items() for row in case.table.values()]
FEWER = {"n_elems": 1000, "nbytes": 4000}
ROOTED = {"broadcast": -1, "reduce": 0}  # the PE that names root 0: then no PE sends, or two PEs wait for all


def drawn(rows, k):
    """(collective, row, PEs) of the k-th sample; the row that needs several nodes runs on 4 PEs."""
    rng = Random(f"{SEED}/{k}")
    collective, row = rng.choice(rows)
    n = 4 if row.name.startswith("hierarchical") else rng.choice((2, 3, 4))
    print(f"PENNYMPI_MACHINE_SEED={SEED}: {collective}-{row.name}-{n}")
    return collective, row, n


class Calls:
    """Calls of a row by n PEs on threads; behind its arrays lies memory that nobody may write."""

    def __init__(self, collective, row, n):
        self.n, self.machine = n, Machine(n, 1 << 18, LONG_S)
        place = (0, 0, 1, 1) if row.name.startswith("hierarchical") else (0,) * n
        reduces = collective not in CASES or CASES[collective].reduces
        self.row = Workspace(self.machine, row, f"{collective} ({row.name})", place, BUFFER_BYTES, COUNT, n - 1, reduces)
        self.src, self.out = (self.machine.allocate(4 * n * COUNT) for _ in range(2))
        self.guard = self.machine.allocate(GUARD_BYTES)
        if collective == "broadcast":
            self.out = self.src
        for me in range(n):
            self.machine.view(me, self.guard, GUARD_BYTES, "u1")[:] = GUARD

    def run(self, differs, signature, other):
        """Two right calls, one in which PE ``differs`` has another signature and other numbers, and a right one.

        A PE that is told goes no further, and may take a slower PE's call before with it: whoever waits for that one then
        has a right result, and in the next call an error by the deadline.
        """

        def program(me):
            def call(signature, **numbers):
                self.row.call(me, self.src, self.out, signature, **numbers)

            call(5), call(5)
            self.machine.pes[me].ctx[ctx_words.TIMEOUT_NS] = int(1e9 * SHORT_S)
            if me == differs % self.n:
                call(signature, **other)
            else:
                call(5)
            call(5)

        ended = self.machine.run(program)
        for me in range(self.n):
            left = self.machine.view(me, self.guard, GUARD_BYTES, "u1")
            assert (left == GUARD).all(), "memory beside the workspace and the arrays was written"
        return ended


@pytest.mark.parametrize("k", range(SAMPLES))
def test_another_call_is_told(k):
    """Only its description differs, as for another op or plan; or it is of fewer elements, too."""
    for other in ({}, FEWER):
        collective, row, n = drawn(ROWS, k)
        ended = Calls(collective, row, n).run(n - 1, 6, other)
        told = [str(one) for one in ended if isinstance(one, CollectiveMismatchError)]
        assert told and all("call 5;" in one or "call 6;" in one for one in told), ended
        assert all(one is None or isinstance(one, CollectiveMismatchError | PeerTimeout) for one in ended), ended


@pytest.mark.parametrize("collective", ROOTED)
def test_another_root_ends_in_an_error(collective):
    """Nobody may be there to send: then by the deadline."""
    collective, row, n = drawn([one for one in ROWS if one[0] == collective], 0)
    ended = Calls(collective, row, n).run(ROOTED[collective], 6, {"root": 0})
    assert any(ended), ended
    assert all(one is None or isinstance(one, CollectiveMismatchError | PeerTimeout) for one in ended), ended
