"""``--verify NAME``: comparisons of a result with what is known without the solver.  Each is a file.

sentence: what is compared with what, for --help
why_not:  (team, problem) -> why this check cannot be made, or ""; asked on every PE before the run
judge:    (solver, outcome) -> Verdict, the same on every PE.  Collective
"""

from . import analytic, serial

TABLE = {"serial": serial, "analytic": analytic}
