"""``--verify NAME``: comparisons of a result with a reference that does not use the solver.  Each is a file.

sentence: description of the comparison, for --help
why_not:  (team, problem) -> the reason why the check is impossible, or ""; called on every PE before the run
judge:    (solver, outcome) -> Verdict, the same on every PE.  Collective
"""

from . import analytic, serial

TABLE = {"serial": serial, "analytic": analytic}
