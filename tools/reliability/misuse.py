"""Rows 17 and 20: wrong arguments, and a library that is used after its end, from threads, by forked children."""

from __future__ import annotations

from collections.abc import Iterator

from .case import Case, Row
from .stage import PROGRAMS, Stage, unexpected, whole

ARGUMENTS = ("bad_arguments", "freed_arrays", "arrays_of_another_team", "dropped")
ENDS = ("finalized_twice", "outstanding_at_finalize", "calls_after_finalize", "arrays_after_finalize", "fork",
        "many_teams")  # fmt: skip
LIMIT_S = 100.0


def kinds(stage: Stage, n: int, *names: str) -> Iterator[Case]:
    """Kinds of programs/misuse.py, which print that their promise held: a job each, on GPUs one for all."""
    for together in [names] if stage.n_gpus else [(name,) for name in names]:
        ended = stage.job(n, PROGRAMS / "misuse.py", *together, limit_s=LIMIT_S)
        held = [name for name in together if f"held {name}" in ended.output]
        for name in held[: len(together) - bool(whole(ended, LIMIT_S))]:
            yield Case(name.replace("_", " "))
        if failure := whole(ended, LIMIT_S) or ("" if len(held) == len(together) else unexpected(ended, LIMIT_S)):
            failed = together[min(len(held), len(together) - 1)]  # those behind it were not begun
            yield Case(failed.replace("_", " "), 1, f"{n} PEs: {failure}")


def arguments(stage: Stage) -> Iterator[Case]:
    for n in stage.ranks(2, 4):
        yield from kinds(stage, n, *ARGUMENTS)
        yield stage.suite("arguments", n, "library/test_arguments.py", "library/test_collective_arguments.py")


def ends(stage: Stage) -> Iterator[Case]:
    for n in (1, *stage.ranks(2, 4)):
        yield from kinds(stage, n, *(kind for kind in ENDS if kind != "many_teams" or n == 2))
        yield from kinds(stage, n, "threads")  # a job of its own: a wait that gave up ends all teams of its process
    ended = stage.job(0, "-c", "import pennympi; print(pennympi.__version__)", limit_s=LIMIT_S)
    yield Case("import without mpirun", 1, whole(ended, LIMIT_S))
    line = "import sys; sys.modules['mpi4py'] = None; import pennympi"
    ended = stage.job(0, "-c", line, limit_s=LIMIT_S)
    held = ended.rc == 1 and "mpi4py" in ended.output
    yield Case("import without mpi4py", 1, "" if held else unexpected(ended, LIMIT_S))


ROWS = [
    Row("17", "bad arguments: None, lists, no such PE, strided, read-only, freed, of another team, overlapping, huge",
        "one precise error before anything is sent; the library stays usable", 60, arguments, gpu_s=60),
    Row("20", "finalize twice or with calls under way; everything after finalize; threads, fork, 600 teams, imports",
        "right, or one error; never a crash or a hang", 80, ends, gpu_s=60),
]  # fmt: skip
