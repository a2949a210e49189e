"""Every kernel text under the machine that does its worst, see ``machine/``.

A fresh seed each time, which a failure names; PENNYMPI_MACHINE_SEED repeats one.  By hand for an hour:
``python -m tests.machine --minutes 60``.
"""

from itertools import product

import pytest
from machine.known import KNOWN
from machine.network import ANY_ORDER, IN_ORDER, POINTER
from machine.program import PLAIN, SYMMETRIC, Case, all_cases, key, run
from machine.seed import SEED

PROGRAMS = 2  # of each case
CASES = all_cases()
RIGHT = [case for case in CASES if key(case) not in KNOWN]


@pytest.mark.parametrize("case", RIGHT, ids=str)
def test_a_row(case):
    """Calls of changing size, root and arrays, with a lane of their own."""
    for k in range(PROGRAMS):
        run(case, f"{SEED}/{k}")


@pytest.mark.parametrize("network, arrays", [(POINTER, PLAIN), *product((IN_ORDER, ANY_ORDER), (SYMMETRIC, PLAIN))])
def test_all_rows(network, arrays):
    """Calls of all rows that are right on this network, one after the other."""
    rows = tuple(case.rows[0] for case in RIGHT if case.network == network and case.arrays == arrays)
    for k in range(3 * PROGRAMS):
        run(Case(rows, network, arrays), f"{SEED}/{k}", calls=12)


def test_known_faults_are_rows():
    """The list of known faults names nothing that is not there."""
    assert {key(case) for case in CASES} >= KNOWN
