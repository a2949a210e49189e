"""Row 32: everything at once for minutes."""

from __future__ import annotations

from collections.abc import Iterator

from .case import Case, Row
from .stage import Stage

MINUTES = 10.0  # of a whole run


def soak(stage: Stage) -> Iterator[Case]:
    for n in stage.ranks(4)[-1:]:
        minutes = max(0.1, MINUTES * stage.scale)
        args = ("--minutes", f"{minutes:.2f}", "--seed", stage.seed, "--backend", stage.backend)
        yield stage.counted(f"{minutes:.1f} minutes", n, "soak", *args, limit_s=60 * minutes + 400)  # it compiles first


ROWS = [
    Row("32", "ten minutes at 4 PEs: teams, arrays, plans, streams, puts, every collective, residuals, own kernels",
        "every result exact; memory, descriptors, threads, free heap, prepared launches, /dev/shm flat",
        620, soak, gpu_s=620),
]  # fmt: skip
