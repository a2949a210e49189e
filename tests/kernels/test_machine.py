"""Every kernel text under the machine that does its worst, see ``machine/``.

A fresh seed each time, which a failure names; PENNYMPI_MACHINE_SEED repeats one.  By hand for an hour:
``python -m tests.machine --minutes 60``.
"""

from random import Random

import pytest
from machine.program import PROGRAMS, SYMMETRIC, Case, all_cases, mixtures, run
from seed import SEED

from pennympi.kernels.algorithm import Topology
from pennympi.kernels.block import fence, put, signal, wait
from pennympi.simulator.device import Machine
from pennympi.simulator.faults import Fault
from pennympi.simulator.launches import Launch
from pennympi.simulator.network import COPIED, IN_ORDER

RUNS = 1  # of each case: what nothing orders shows in any
SENT = 3  # words
CASES = all_cases()


@pytest.mark.parametrize("case", CASES, ids=str)
def test_an_algorithm(case):
    """Calls of changing size, root and arrays, with a lane of their own."""
    for k in range(RUNS):
        run(case, f"{SEED}/{k}")


@pytest.mark.parametrize("case", mixtures(CASES), ids=str)
def test_all_algorithms(case):
    """Calls of all algorithms that run on this network, one after the other."""
    for k in range(2 * RUNS):
        run(case, f"{SEED}/{k}", calls=12)


@pytest.mark.parametrize("case", [c for c in CASES if c.algorithms[0][0] not in (*PROGRAMS, "one_sided")], ids=str)
def test_a_pe_gives_up(case):
    """In the middle of a program: no other PE returns a wrong result or waits for ever."""
    for k in range(RUNS):
        run(case, f"{SEED}/{k}", gives_up=True)


def test_garbage_travels_without_a_quiet():
    """NVSHMEM reads the source of a put later: if the kernel goes on at once, it sends garbage after a valid signal."""
    case = Case((("allreduce", "simple_ring"),), IN_ORDER, SYMMETRIC)
    with pytest.raises(Fault):
        for k in range(4000):  # one in seventy shows it
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
        pe.issue([Launch.of("relayed", relayed, (pe.me, words, flag))])
    machine.pes[2].launches[0].end = lambda: found.append(machine.memory.bytes[2][words : words + 8 * SENT].all())
    machine.run()
    return found[0]


def test_a_fence_says_nothing_to_a_third_pe():
    """Where messages go by MPI between hosts: they are in order for each pair of PEs alone."""
    assert not all(finds_all(f"{SEED}/{k}") for k in range(400))  # one in six does not
