"""Rows 17 and 20: wrong arguments, and a library that is used after its end, from threads, by forked children."""

from __future__ import annotations

from collections.abc import Iterator

from .case import Case, Row
from .stage import PROGRAMS, Stage, unexpected, whole

ARGUMENTS = ("bad_arguments", "freed_arrays", "arrays_of_another_team", "dropped")
ENDS = ("finalized_twice", "outstanding_at_finalize", "calls_after_finalize", "arrays_after_finalize", "threads", "fork",
        "many_teams")  # fmt: skip
LIMIT_S = 100.0


def one(stage: Stage, kind: str, n: int) -> Case:
    """A kind of programs/misuse.py that must print that its promise held."""
    ended = stage.job(n, PROGRAMS / "misuse.py", kind, limit_s=LIMIT_S)
    failure = whole(ended, LIMIT_S) or ("" if "held" in ended.output else unexpected(ended, LIMIT_S))
    return Case(kind.replace("_", " "), 1, failure and f"{n} PEs: {failure}")


def arguments(stage: Stage) -> Iterator[Case]:
    for n in stage.ranks(2, 4):
        for kind in ARGUMENTS:
            yield one(stage, kind, n)
        yield stage.suite("arguments", n, "library/test_arguments.py", "library/test_collective_arguments.py")


def ends(stage: Stage) -> Iterator[Case]:
    for n in (1, *stage.ranks(2, 4)):
        for kind in ENDS:
            if kind != "many_teams" or n == 2:
                yield one(stage, kind, n)
    ended = stage.job(0, "-c", "import pennympi; print(pennympi.__version__)", limit_s=LIMIT_S)
    yield Case("import without mpirun", 1, whole(ended, LIMIT_S))
    line = "import sys; sys.modules['mpi4py'] = None; import pennympi"
    ended = stage.job(0, "-c", line, limit_s=LIMIT_S)
    held = ended.rc == 1 and "mpi4py" in ended.output
    yield Case("import without mpi4py", 1, "" if held else unexpected(ended, LIMIT_S))


ROWS = [
    Row("17", "bad arguments: None, lists, no such PE, strided, read-only, freed, of another team, overlapping, huge",
        "one precise error before anything is sent; the library stays usable", 60, arguments, gpu=True),
    Row("20", "finalize twice or with calls under way; everything after finalize; threads, fork, 600 teams, imports",
        "right, or one error; never a crash or a hang", 80, ends, gpu=True),
]  # fmt: skip
