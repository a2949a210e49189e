"""Faults that the texts have today, in one place: what fails is not run, and what is mended is taken out of here.

Each is (table, row, network, arrays); see ``program.Case``.
"""

from .network import ANY_ORDER
from .program import SYMMETRIC

KNOWN = {
    # Two signals to one word arrive in either order.
    ("solver", "exchanging_sweeps", ANY_ORDER, SYMMETRIC),
    ("solver", "persistent_sweeps", ANY_ORDER, SYMMETRIC),
    ("solver", "persistent_again", ANY_ORDER, SYMMETRIC),
}

# What the copy engines move is not held back when a PE gives up: it is written to peers whose call is over.
AFTER_GIVING_UP = {("allreduce planned", "two_shot_copied")}
