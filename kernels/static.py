"""Static loops, which are written out when a kernel is compiled, and static parameters, which become constants.

    def sum_of_rows(n: Static[int], rows, lane):
        total = rows[0]
        for k in static(1, n):             # written out: Numba unrolls no loop over a tuple
            total = total + rows[k]
        return total

Plain Python runs such a function unchanged.  ``pennympi/compile/unroll.py`` writes its loops out for the compiler.
"""

from typing import Annotated, TypeVar

T = TypeVar("T")
STATIC = "known when the kernel is compiled"
Static = Annotated[T, STATIC]


def static(*bounds: int) -> range:
    """The numbers of ``range(*bounds)``: a loop over them is written out when the kernel is compiled."""
    return range(*bounds)
