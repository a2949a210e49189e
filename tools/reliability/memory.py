"""Rows 18, 19 and 21: heaps that are full, machines with little, what a process keeps, and bytes beside the arrays."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator

from .case import Case, Row
from .stage import PROGRAMS, TRACEBACK, Stage, last_words, left, unexpected, whole

SMALL_SHM = ("64k", "1m", "8m", "64m")
CRASHES = re.compile(r"SIGBUS|Bus error|SIGSEGV|Segmentation|signal 7\b|signal 11\b|EXIT CODE: (7|11)\b", re.IGNORECASE)
MPI_ALONE = "from mpi4py import MPI; MPI.COMM_WORLD.Barrier()"
OWN_TMPFS = 'mount -t tmpfs -o size="$0" tmpfs /dev/shm && exec "$@"'


def one_sentence(ended, limit_s: float, words: str) -> str:
    """Whether a job that lacks something ran all the same, or ended with one error that names it."""
    if ended.rc == 0:
        return left(ended)
    if ended.rc is None or CRASHES.search(ended.output):
        return unexpected(ended, limit_s)
    if ended.output.count(TRACEBACK) != 1 or not re.search(words, ended.output):
        return f"{ended.output.count(TRACEBACK)} tracebacks: {last_words(ended)}"
    return left(ended)


def exhaustion(stage: Stage) -> Iterator[Case]:
    for n in stage.ranks(2, 3):
        yield stage.counted("full heap", n, "full_heap", "--times", stage.times(1000), "--seed", stage.seed, limit_s=300)
        yield stage.suite("symmetric arrays", n, "library/test_symmetric.py", "library/test_arena.py")
    if stage.n_gpus:
        return
    unshare = shutil.which("unshare")
    for size in SMALL_SHM[: stage.times(4)] if unshare else ():
        around = [unshare or "", "-m", "sh", "-c", OWN_TMPFS, size]
        name = f"/dev/shm of {size}"
        if stage.job(2, "-c", MPI_ALONE, around=around).rc != 0:
            yield Case(name, 1, not_run="MPI itself does not start there, or namespaces are not allowed")
            continue
        for program in (("places.py", "allreduce"), ("full_heap.py",), ("misuse.py", "dropped")):
            ended = stage.job(2, PROGRAMS / program[0], *program[1:], around=around)
            yield Case(name, 1, one_sentence(ended, 100, r"/dev/shm|shared memory|symmetric heap"))
    for n_files in (16, 20, 24, 32, 48)[: stage.times(5)]:
        inside = ["sh", "-c", 'ulimit -n "$0"; exec "$@"', str(n_files)]
        if stage.job(2, "-c", MPI_ALONE + "; import numba, numpy", inside=inside).rc != 0:
            yield Case(f"{n_files} descriptors", 1, not_run="Python and MPI alone do not start with so few")
            continue
        ended = stage.job(2, PROGRAMS / "places.py", "allreduce", inside=inside)
        yield Case("few descriptors", 1, one_sentence(ended, 100, r"(?i)open files|descriptor|ulimit"))
    for gib in ("1.2", "2")[: stage.times(2)]:
        limit = 'r=${PMI_RANK:-$OMPI_COMM_WORLD_RANK}; [ "$r" = 1 ] && ulimit -v "$0"; exec "$@"'
        inside = ["sh", "-c", limit, str(int(float(gib) * (1 << 20)))]
        if stage.job(2, "-c", MPI_ALONE + "; import numba, numpy", inside=inside).rc != 0:
            yield Case("no memory on one PE", 1, not_run="Python and MPI alone do not start with so little")
            continue
        ended = stage.job(2, PROGRAMS / "places.py", "allreduce", inside=inside, PENNYMPI_SYMMETRIC_SIZE="900m")
        yield Case("no memory on one PE", 1, one_sentence(ended, 100, r"(?i)memory"))


def leaks(stage: Stage) -> Iterator[Case]:
    for n in stage.ranks(2, 3):
        times = stage.times(200 if stage.n_gpus else 2000)
        yield stage.counted("teams in one process", n, "leaks", "--times", times, limit_s=400)
    for _ in range(0 if stage.n_gpus else stage.times(200)):
        ended = stage.job(2, PROGRAMS / "misuse.py", "finalized_twice")
        yield Case("jobs one after the other", 1, whole(ended, 100))


def guarded(stage: Stage) -> Iterator[Case]:
    if not stage.n_gpus:
        for n in stage.ranks(2, 3, 4):
            share = max(1, round(2 / stage.scale))
            yield stage.counted("between guard pages", n, "guarded", "--times", share, limit_s=300)
        return
    tool = shutil.which("compute-sanitizer")
    if not tool:
        yield Case("compute-sanitizer", 1, not_run="compute-sanitizer is not installed")
        return
    inside = [tool, "--tool", "memcheck", "--error-exitcode", "9"]
    ended = stage.job(stage.ranks(2)[0], PROGRAMS / "places.py", "plan", inside=inside, limit_s=200, timeout_s=150)
    yield Case("compute-sanitizer memcheck", 1, whole(ended, 200))


ROWS = [
    Row("18", "heaps filled and freed 1,000 times in random order, unequal requests; /dev/shm of 64 KiB to 64 MiB, few "
        "descriptors, little memory on one PE",
        "one error on all PEs with bytes and remedy, or it runs; no fragmentation, no crash", 130, exhaustion, gpu_s=120),
    Row("19", "2,000 teams made, used and finalized in one process; 200 jobs one after the other",
        "less than 1 MiB more, the same descriptors and threads; nothing left", 330, leaks, gpu_s=120),
    Row("21", "arrays between pages without access, in every algorithm and dtype; compute-sanitizer on GPUs",
        "not a byte beside the arrays is touched", 60, guarded, gpu_s=100),
]  # fmt: skip
