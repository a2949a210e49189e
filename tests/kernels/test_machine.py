"""Every kernel text under the machine that does its worst, see ``machine/``.

A fresh seed each time, which a failure names; PENNYMPI_MACHINE_SEED repeats one.  By hand for an hour:
``python -m tests.machine --minutes 60``.
"""

from random import Random

import pytest
from machine.device import Launch, Machine
from machine.network import COPIED, NETWORKS
from machine.program import all_cases, mixtures, run
from seed import SEED

from pennympi.kernels.algorithm import Topology
from pennympi.kernels.block import fence, put, signal, wait

PROGRAMS = 2  # of each case
SENT = 3  # words
CASES = all_cases()


@pytest.mark.parametrize("case", CASES, ids=str)
def test_an_algorithm(case):
    """Calls of changing size, root and arrays, with a lane of their own."""
    for k in range(PROGRAMS):
        run(case, f"{SEED}/{k}")


@pytest.mark.parametrize("case", mixtures(CASES), ids=str)
def test_all_algorithms(case):
    """Calls of all algorithms that run on this network, one after the other."""
    for k in range(2 * PROGRAMS):
        run(case, f"{SEED}/{k}", calls=12)


def relayed(ctx: int, by: int, to: int, words: int, flag: int):
    """PE 0 puts words to PE ``to``, and signals it, or signals PE ``by``, which signals PE ``to``."""
    if ctx == 0:
        put(ctx, words, words, 8 * SENT, to)
        fence(ctx)
        signal(ctx, flag, 1, by)
    if ctx == by:
        wait(ctx, flag, 1, 0)
    if ctx == by != to:
        signal(ctx, flag, 1, to)
    if ctx == to != by:
        wait(ctx, flag, 1, by)


def finds_all(network, by, seed):
    """Whether PE 2, once its signal comes, has the words that PE 0 put."""
    machine, found = Machine(network, Topology((0, 1, 2)), Random(seed)), []
    words, flag = machine.memory.allocate(8 * SENT), machine.memory.allocate(8)
    own = [words_of_pe[words >> 3 : (words >> 3) + SENT] for words_of_pe in machine.memory.words]
    own[0][:] = memoryview(bytearray(b"\1" * 8 * SENT)).cast("q")
    for pe in machine.pes:
        launch = Launch.of("relayed", relayed, (pe.me, by, 2, words, flag))
        if pe.me == 2:
            launch.end = lambda: found.extend(own[2])
        pe.issue([launch])
    machine.run()
    return found == list(own[0])


@pytest.mark.parametrize("network", NETWORKS)
def test_a_fence_orders_puts_before_signals_to_their_pe(network):
    assert all(finds_all(network, 2, f"{SEED}/{k}") for k in range(40))


def test_a_fence_says_nothing_to_a_third_pe():
    """Where messages go by MPI between hosts: they are in order for each pair of PEs alone."""
    assert not all(finds_all(COPIED, 1, f"{SEED}/{k}") for k in range(400))  # one in six does not
