"""Rows 15 and 16: PEs that make different calls are told so, in debug mode and without it."""

from __future__ import annotations

from collections.abc import Iterator

from .case import Case, Row
from .stage import PROGRAMS, TRACEBACK, Stage, last_words, left

KINDS = ("count", "dtype", "width", "op", "root", "reduced", "algorithm", "order", "sizes", "equal", "collective",
         "scattered", "barrier", "missing")  # fmt: skip
SIZES = (2, 1000, 300_000)  # elements
DEADLINE_S = 4.0


def in_debug_mode(stage: Stage) -> Iterator[Case]:
    for n in stage.ranks(2, 3, 4)[: max(1, stage.times(3))]:
        for form in ("eager", "plan"):
            for size in SIZES[: max(1, stage.times(3))]:
                yield stage.counted(f"{form}, {size} elements", n, "mismatch", "all", form, size, PENNYMPI_DEBUG="1")
        yield stage.suite("mismatches", n, "library/test_debug.py")


def in_release_mode(stage: Stage) -> Iterator[Case]:
    sizes = stage.ranks(2, 3, 4)
    for n in sizes[:1] + sizes[-1:]:  # compiles what the jobs call
        stage.counted("compiled", n, "mismatch", "all", "eager", 1000, PENNYMPI_DEBUG="1", limit_s=300)
    kinds = [(kind, form, size, n) for kind in KINDS for form in ("eager", "plan") for size in SIZES for n in sizes]
    for kind, form, size, n in stage.some(kinds, 126):
        ended = stage.job(n, PROGRAMS / "mismatch.py", kind, form, size, limit_s=40, timeout_s=DEADLINE_S)
        yield Case(f"{kind}, {form}", 1, _judged(ended, f"{size} elements, {n} PEs"))


def _judged(ended, where: str) -> str:
    if ended.rc == 0 or "untold" in ended.output:
        return f"{where}: not told"
    if ended.rc is None:
        return f"{where}: hangs: {last_words(ended)}"
    if "CollectiveMismatchError" not in ended.output:
        return f"{where}: not told as a mismatch: {last_words(ended)}"
    late_s = ended.since("fault") if "fault " in ended.output else 0.0  # plans may be told when they are made
    if late_s > DEADLINE_S + 2:
        return f"{where}: told after {late_s:.1f} s"
    if ended.output.count(TRACEBACK) > 1:
        return f"{where}: {ended.output.count(TRACEBACK)} tracebacks"
    return left(ended) and f"{where}: {left(ended)}"


ROWS = [
    Row("15", "14 kinds of mismatched calls and plans in debug mode, 3 sizes, 2 to 4 PEs",
        "CollectiveMismatchError on every PE, naming both sides, before anything is sent; the library stays usable",
        90, in_debug_mode, gpu_s=150),
    Row("16", "14 kinds of mismatched calls and plans in release mode, 3 sizes, 2 to 4 PEs",
        "each is told as CollectiveMismatchError within the deadline + 2 s; never a wrong result without a word",
        350, in_release_mode, gpu_s=1400),
]  # fmt: skip
