"""Programs in which some PEs make a different call of the same algorithm."""

from collections.abc import Callable
from random import Random

from pennympi.kernels.algorithm import Topology
from pennympi.simulator.faults import Fault
from pennympi.simulator.memory import EPOCHS
from pennympi.simulator.network import COPIED, POINTER

from .by_counts import Counts, by_counts
from .calls import collective
from .program import PLAIN, PROGRAMS, SYMMETRIC, TABLES, Case, runs_on
from .team import Team, place_for

WORDS, ALL = "words", "all"  # the calls differ only in their description, as with another op; or in everything
ROOTED = ("broadcast", "reduce")


def run_mismatch(table: str, name: str, network: str, differs: str, seed: str) -> bool:
    """Right calls, a call that differs on some PEs, and right calls.  Returns whether a PE noticed the difference.

    Raises Fault for a wrong result of a PE that has not given up, for an access outside an object, and if no
    PE notices the difference although a PE had to wait.
    """
    rng, algorithm = Random(seed), TABLES[table][name]
    plain = network in (POINTER, COPIED) and "planned" not in table
    team = differing(network, rng, lambda topology: runs_on(algorithm, topology), plain)
    others = rng.sample(range(team.n), rng.randrange(1, team.n))
    before = rng.randrange(3)
    for number in range(before):
        team.issue(collective(team, table, algorithm, number))
    state = rng.getstate()
    one = collective(team, table, algorithm, before)
    if differs == WORDS:
        rng.setstate(state)
    other = collective(team, table, algorithm, before, plan_number=1)
    mixed = [(other if pe in others else one)[pe] for pe in range(team.n)]
    team.issue(mixed)
    roots = {streams[0].known["root"] for streams in mixed}
    waited = len(roots) == 1 or table not in ROOTED  # without a wait, the next rendezvous finds the mismatch
    for number in range(before + 1, before + 1 + rng.randrange(3) * waited):
        team.issue(collective(team, table, algorithm, number))
    with team.noted(f"{table}/{name} on {network}, {differs}; {others} differ; seed {seed!r}"):
        team.machine.run()
        tags = {streams[0].known["tag"] // EPOCHS for streams in mixed}
        if not any(team.machine.patience.gave_up) and len(tags) > 1 and waited:
            raise Fault("no PE noticed another call")
    return bool(team.machine.noticed)


def differing(network: str, rng: Random, runs: Callable[[Topology], bool], plain: bool) -> Team:
    """A team whose PEs may make different calls, and give up where no PE can go on."""
    team = Team(network, rng, place_for(rng, network, runs), plain)
    team.machine.may_differ, team.machine.patience.ends, team.machine.patience.first = True, True, -1
    return team


def run_other_counts(table: str, name: str, network: str, seed: str) -> set[int]:
    """Right calls, then one for which a PE has wrong counts or too small an out.  Returns why PEs have refused it.

    Raises Fault for an access outside an object, and for a wrong result of a PE that has not given up.
    """
    rng, algorithm = Random(seed), TABLES[table][name]
    team = differing(network, rng, lambda topology: runs_on(algorithm, topology), network in (POINTER, COPIED))
    n = team.n
    odd, more, lacks = rng.randrange(n), rng.choice((-1, 1, 40)), rng.random() < 0.3
    i, j = (odd, (odd + rng.randrange(1, n)) % n) if rng.random() < 0.5 else ((odd + rng.randrange(1, n)) % n, odd)
    if table == "reduce_scatterv":
        j = n - 1  # the PEs before PE j have right results
    changed = {"all_gatherv": lambda a, b: a == i, "reduce_scatterv": lambda a, b: b == j}

    def wrong_counts(right: Counts) -> Counts:
        differs = changed.get(table, lambda a, b: (a, b) == (i, j))
        return [[max(0, c + more) if differs(a, b) else c for b, c in enumerate(one)] for a, one in enumerate(right)]

    for number in range(rng.randrange(3)):
        team.issue(by_counts(team, table, algorithm, number))
    errors = {"lacks": {odd: 1 << 20}} if lacks else {"wrong": {odd: wrong_counts}}
    team.issue(by_counts(team, table, algorithm, 9, **errors))
    with team.noted(f"{table}/{name} on {network}, {errors}, {i} to {j}, {more} more; seed {seed!r}"):
        team.machine.run()
    return team.machine.noticed_why


def mismatch_cases(cases: list[Case]) -> list[tuple[str, str, str, str]]:
    """(table, algorithm, network, what differs) for the cases of collectives."""
    found = []
    for case in cases:
        table, name = case.algorithms[0]
        if table not in ("exchange", *PROGRAMS) and case.arrays == (
            PLAIN if case.network in (POINTER, COPIED) and "planned" not in table else SYMMETRIC
        ):
            found += [(table, name, case.network, differs) for differs in (WORDS, ALL)]
    return found
