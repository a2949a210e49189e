"""Which AllReduce algorithm runs when none is named."""

from .errors import Unsupported
from .kernels.algorithm import Algorithm, Place
from .kernels.allreduce import TABLE
from .settings import setting

# Up to how many bytes each is the fastest, by PEs (the largest entry serves more PEs too).
ONE_SHOT_PACKETS_MAX_BYTES = {2: 16 << 20, 3: 512 << 10, 4: 256 << 10, 8: 64 << 10}
TWO_SHOT_PACKETS_MAX_BYTES = {2: 0, 3: 4 << 20}
ONE_SHOT_MAX_BYTES = {2: 1 << 62, 3: 64 << 10, 4: 32 << 10}


def _limit(table: dict[int, int], n_pes: int) -> int:
    return table[max(n for n in table if n <= max(2, n_pes))]


def best(place: Place, nbytes: int) -> str:
    """The algorithm for a size, as measured on NVLink (n = 2) and by counting bytes and hops above."""
    n_pes, whole_lines = place.n_pes, place.whole_lines
    if whole_lines and nbytes <= _limit(ONE_SHOT_PACKETS_MAX_BYTES, n_pes):
        return "one_shot_packets"
    if whole_lines and nbytes <= _limit(TWO_SHOT_PACKETS_MAX_BYTES, n_pes):
        return "two_shot_packets"
    if nbytes <= _limit(ONE_SHOT_MAX_BYTES, n_pes):
        return "one_shot"
    return "two_shot" if whole_lines else "ring"


def choose(name: str | Algorithm, place: Place, nbytes: int, dtype: str, op: str) -> Algorithm:
    """The row to run.  ``name``: an algorithm's, or "auto"; or a row, which a measurement may have changed.

    Raises ValueError for an unknown name, Unsupported when it can't run here.
    """
    if name == "auto":
        name = setting("PENNYMPI_ALLREDUCE")
    if name == "auto":
        name = best(place, nbytes)
    row = name if isinstance(name, Algorithm) else TABLE.get(name)
    if row is None:
        raise ValueError(f"algorithm {name!r} is unknown: use auto, {', '.join(TABLE)}")
    reason = row.refuse(place, dtype, op)
    if reason:
        raise Unsupported(f"{row.name} can't run here: {reason}; use algorithm='auto'")
    return row
