"""Every kernel text on the adversarial machine of ``machine/``.

Each run has a new seed, which a failure names; PENNYMPI_MACHINE_SEED repeats a run.  A run of an hour:
``python -m tests.machine --minutes 60``.
"""

from random import Random

import pytest
from machine.launching import KernelLaunch
from machine.program import PROGRAMS, SYMMETRIC, Case, all_cases, mixtures, run
from seed import SEED

from pennympi.kernels.algorithm import Topology
from pennympi.kernels.block import fence, put, signal, wait
from pennympi.simulator.device import Machine
from pennympi.simulator.faults import Fault
from pennympi.simulator.network import COPIED, IN_ORDER

SENT = 3  # words
CALLS = 4  # of a program: each buffer is used twice
# Of the networks that deliver later, the one that keeps an order hides faults that the other shows: it has fewer cases.
CASES = [case for case in all_cases() if case.network != IN_ORDER or case.arrays == SYMMETRIC]
GIVING_UP = [c for c in CASES if c.algorithms[0][0] not in PROGRAMS and c.network != IN_ORDER]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_an_algorithm(case):
    """Calls of changing size, root and arrays, with a lane of their own."""
    run(case, f"{SEED}/0", calls=CALLS)


@pytest.mark.parametrize("case", mixtures(CASES), ids=str)
def test_all_algorithms(case):
    """Calls of all algorithms that run on this network, one after the other."""
    for k in range(2):
        run(case, f"{SEED}/{k}", calls=12)


@pytest.mark.parametrize("case", GIVING_UP, ids=str)
def test_a_pe_gives_up(case):
    """In the middle of a program: no other PE returns a wrong result or waits for ever."""
    run(case, f"{SEED}/0", calls=CALLS, gives_up=True)


@pytest.mark.slow
def test_garbage_travels_without_a_quiet():
    """NVSHMEM reads the source of a put later: a kernel that goes on at once sends garbage after a valid signal."""
    case = Case((("allreduce", "simple_ring"),), IN_ORDER, SYMMETRIC)
    with pytest.raises(Fault):
        for k in range(4000):  # one run in seventy shows it
            run(case, f"{SEED}/{k}", gives_up=True, quiet=False)


def relayed(ctx: int, words: int, flag: int):
    """PE 0 puts words to PE 2 and, after a fence, signals PE 1, which signals PE 2."""
    if ctx == 0:
        put(ctx, words, words, 8 * SENT, 2)
        fence(ctx)
        signal(ctx, flag, 1, 1)
    if ctx == 1:
        wait(ctx, flag, 1, 0)
        signal(ctx, flag, 1, 2)
    if ctx == 2:
        wait(ctx, flag, 1, 1)


def finds_all(seed):
    """Whether PE 2, once its signal comes, has the words that PE 0 put."""
    machine, found = Machine(COPIED, Topology((0, 1, 2)), Random(seed)), []
    words, flag = machine.memory.allocate(8 * SENT), machine.memory.allocate(8)
    machine.memory.bytes[0][words : words + 8 * SENT] = 1
    for pe in machine.pes:
        pe.launches += [KernelLaunch("relayed", relayed, (pe.me, words, flag))]
    machine.pes[2].launches[0].end = lambda: found.append(machine.memory.bytes[2][words : words + 8 * SENT].all())
    machine.run()
    return found[0]


def test_a_fence_says_nothing_to_a_third_pe():
    """Messages by MPI between hosts are in order only for each pair of PEs."""
    assert not all(finds_all(f"{SEED}/{k}") for k in range(400))  # one run in six fails to find them
