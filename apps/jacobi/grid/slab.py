"""Which PE owns which rows: the decomposition of NVIDIA's sample.

The ny-2 inner rows are distributed in order.  When they do not divide evenly, the *first* PEs get the lower number of
rows and the others one more.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Slab:
    """The rows of one PE.

    first: global number of its first row (at least 1);  rows: number of its rows
    top, bottom: the PEs that own the row above and the row below, on a ring
    """

    first: int
    rows: int
    top: int
    bottom: int


def slabs(ny: int, n_pes: int) -> list[Slab]:
    """The slab of every PE.  Raises ValueError if a PE would get no row."""
    inner = ny - 2
    if inner < n_pes:
        raise ValueError(f"{inner} inner rows (ny - 2) cannot be shared by {n_pes} PEs: use a larger --ny or fewer PEs")
    low = inner // n_pes
    num_low = n_pes * low + n_pes - inner
    result, first = [], 1
    for pe in range(n_pes):
        rows = low if pe < num_low else low + 1
        result.append(Slab(first, rows, (pe - 1) % n_pes, (pe + 1) % n_pes))
        first += rows
    return result
