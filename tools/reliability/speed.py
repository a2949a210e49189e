"""Row 28: what one call may cost beside others of the same library."""

from __future__ import annotations

from collections.abc import Iterator

from .case import Case, Row
from .stage import Stage


def guidelines(stage: Stage) -> Iterator[Case]:
    for n in stage.ranks(2):
        yield stage.counted("guidelines", n, "guidelines", "--times", stage.times(40), limit_s=300)


ROWS = [
    Row("28", "AllReduce beside reduce + broadcast, reduce_scatter + all_gather, 4 times the size, and each algorithm by "
        "name, 8 B to 512 KiB (32 MiB on GPUs)",
        "never slower by more than 5 %, `auto` within 10 % of the best (sign test, 1 in 1,000)",
        90, guidelines, gpu_s=60),
]  # fmt: skip
