"""Rows 1 to 9: what the collectives compute, and what PEs see of one another, in random order and great number."""

from __future__ import annotations

from collections.abc import Iterator

from .case import Case, Row
from .stage import Stage

FUZZ = {2: 3000, 3: 2200, 4: 1700, 5: 1200, 7: 800, 8: 800, 16: 300}  # calls at each number of PEs


def fuzz(stage: Stage) -> Iterator[Case]:
    for n in stage.ranks():
        calls = stage.times(FUZZ.get(n, 1000))
        variables = {"PENNYMPI_FUZZ_CALLS": str(calls), "PENNYMPI_FUZZ_SEED": str(stage.seed)}
        case = stage.suite("random AllReduces", n, "kernels/test_fuzz.py", **variables)
        yield Case(case.name, calls, case.failure)


def random_collectives(stage: Stage) -> Iterator[Case]:
    for n in stage.ranks():
        times = stage.times(2000 if n <= 4 else 300)
        yield stage.counted("random calls", n, "random_collectives", "--times", times, "--seed", stage.seed, limit_s=400)


def grid(stage: Stage) -> Iterator[Case]:
    for n in stage.ranks(2, 3, 4, 5, 8):
        share = max(1, round((2 if n == 2 else 6 if n <= 4 else 60) / stage.scale))
        yield stage.counted("grid", n, "grid", "--times", share, "--seed", stage.seed, limit_s=400)


def alignment(stage: Stage) -> Iterator[Case]:
    for n in stage.ranks(2, 3, 4)[: stage.times(3)]:
        yield stage.suite("any byte", n, "kernels/test_alignment.py")


def bits(stage: Stage) -> Iterator[Case]:
    for n in stage.ranks(2, 3, 4)[: stage.times(3)]:
        yield stage.suite("special values", n, "kernels/test_bits.py")


def repeats(stage: Stage) -> Iterator[Case]:
    for n in stage.ranks(2, 3, 4):
        yield stage.counted("repeats", n, "repeats", "--times", stage.times(1000), "--seed", stage.seed, limit_s=300)


def back_to_back(stage: Stage) -> Iterator[Case]:
    for n in stage.ranks(2, 4):
        times = stage.times(1_000_000 if n == 2 else 100_000)
        yield stage.counted("8-byte calls", n, "many_calls", "--times", times, limit_s=400)
    for n in stage.ranks(2, 3)[: stage.times(2)]:
        yield stage.suite("epochs near 2^31 and 2^32", n, "kernels/test_epochs.py")


def halos(stage: Stage) -> Iterator[Case]:
    for n in stage.ranks(2, 3, 4, 8, 16):
        times = stage.times(100_000 if n == 2 else 20_000 if n <= 4 else 2_000)
        yield stage.counted("halo exchanges", n, "halo", "--times", times, "--seed", stage.seed, limit_s=300)


def interleaved(stage: Stage) -> Iterator[Case]:
    for n in stage.ranks(2, 3, 4):
        yield stage.counted("interleaved", n, "interleaved", "--times", stage.times(10_000), "--seed", stage.seed)
    yield stage.suite("streams, plans, teams", stage.ranks(2)[0], "library/test_overlap.py", "cuda/test_graph.py")


ROWS = [
    Row("1", "random AllReduces: dtype, op, size, algorithm, place, alignment, stream, late PEs; 2 to 16 PEs",
        "every bit right, nothing written beside the arrays", 130, fuzz, gpu_s=60),
    Row("2", "random calls of the five other collectives, eager and planned; 2 to 16 PEs", "every bit right",
        150, random_collectives, gpu_s=120),
    Row("3", "every algorithm x dtype x op x 17 sizes", "every bit right", 150, grid, gpu_s=200),
    Row("4", "arrays that start and end at any byte", "every bit right, the bytes beside untouched",
        60, alignment, gpu_s=60),
    Row("5", "exact sums, NaN, infinities, -0, subnormals", "as documented, the same on all PEs", 60, bits, gpu_s=60),
    Row("6", "one call of random floats, 1,000 times, with PEs that come up to 5 ms late", "always the same bits",
        60, repeats, gpu_s=60),
    Row("7", "a million 8-byte AllReduces and 100,000 barriers back to back; epochs near 2^31 and 2^32",
        "every sum right, no hang", 100, back_to_back, gpu_s=60),
    Row("8", "100,000 halo exchanges of stamped rows by put and signal, with late PEs; 2 to 16 PEs",
        "no stale and no torn row", 90, halos, gpu_s=60),
    Row("9", "two teams, three streams, plans and eager calls, 32 under way; graphs replayed 10,000 times on GPUs",
        "every result exact", 60, interleaved, gpu_s=90),
]  # fmt: skip
