"""Every kernel text under the machine that does its worst, see ``machine/``.

A fresh seed each time, which a failure names; PENNYMPI_MACHINE_SEED repeats one.  By hand for an hour:
``python -m tests.machine --minutes 60``.
"""

import pytest
from machine.known import KNOWN
from machine.program import all_cases, key, mixtures, run
from seed import SEED

PROGRAMS = 2  # of each case
CASES = all_cases()
RIGHT = [case for case in CASES if key(case) not in KNOWN]


@pytest.mark.parametrize("case", RIGHT, ids=str)
def test_a_row(case):
    """Calls of changing size, root and arrays, with a lane of their own."""
    for k in range(PROGRAMS):
        run(case, f"{SEED}/{k}")


@pytest.mark.parametrize("case", mixtures(RIGHT), ids=str)
def test_all_rows(case):
    """Calls of all rows that are right on this network, one after the other."""
    for k in range(3 * PROGRAMS):
        run(case, f"{SEED}/{k}", calls=12)


def test_known_faults_are_rows():
    """The list of known faults names nothing that is not there."""
    assert {key(case) for case in CASES} >= KNOWN
