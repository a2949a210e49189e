"""A PE gives up in the middle of a program: no other PE returns a wrong result or waits for ever."""

import pytest
from machine.faults import Fault
from machine.network import IN_ORDER
from machine.program import PROGRAMS, SYMMETRIC, Case, all_cases, run
from seed import SEED

OTHERS = (*PROGRAMS, "one_sided")
CASES = [case for case in all_cases() if case.algorithms[0][0] not in OTHERS]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_pe_gives_up(case):
    """Its puts reach no PE, and its signals are poison."""
    for k in range(2):
        run(case, f"{SEED}/{k}", gives_up=True)


def test_garbage_travels_without_a_quiet():
    """NVSHMEM reads the source of a put later: if the kernel goes on at once, it sends garbage after a valid signal."""
    case = Case((("allreduce", "simple_ring"),), IN_ORDER, SYMMETRIC)
    with pytest.raises(Fault):
        for k in range(4000):  # one in seventy shows it
            run(case, f"{SEED}/{k}", gives_up=True, quiet=False)
