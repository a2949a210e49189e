"""The collectives that can be measured, each as a ``Case``, with nccl-tests' conventions.

The size S is the size of the larger buffer.  A block is the part of a vector that belongs to a PE, or the whole vector
of a collective that does not divide it.  algbw = S / time, and busbw = algbw * bus(n_pes).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .pattern import REDUCED

Part = tuple[int, int, int]  # (row of the pattern, first element in it, number of elements)


@dataclass(frozen=True)
class Case:
    """A collective.

    bus:      n_pes -> busbw / algbw
    expected: (me, n_pes, block_elems, root) -> the parts that the target holds at the end
    source_cut, target_cut: the buffer holds a block for each PE; else it holds a single block
    in_place: overlap of source and target: "same", "source in target" or "target in source" (at this PE's block), or
              "" if there is no in-place form
    counts:   (me, n_pes, block_elems) -> elements sent to each PE and elements received from each PE, of a collective
              by counts; the counts are uneven, and a block is their mean
    """

    name: str
    bus: Callable[[int], float]
    expected: Callable[[int, int, int, int], list[Part]]
    source_cut: bool = False
    target_cut: bool = False
    in_place: str = "same"
    reduces: bool = False
    rooted: bool = False
    counts: Callable[[int, int, int], tuple[list[int], list[int]]] | None = None

    def block_elems(self, nbytes: int, item_bytes: int, n_pes: int) -> int:
        """Elements of a block for a size of ``nbytes``."""
        return nbytes // item_bytes // (n_pes if self.source_cut or self.target_cut else 1)

    def buffer_elems(self, block_elems: int, n_pes: int) -> tuple[int, int]:
        """Elements of the source and of the target."""
        return block_elems * (n_pes if self.source_cut else 1), block_elems * (n_pes if self.target_cut else 1)


def partner(me: int, n_pes: int) -> int:
    """The other PE of an exchange; the last of an odd number of PEs exchanges with itself."""
    return min(me ^ 1, n_pes - 1)


def uneven(n_pes: int, block_elems: int) -> list[int]:
    """Counts whose mean is a block: the last PE has n_pes times as many as the first."""
    return [2 * block_elems * (pe + 1) // (n_pes + 1) for pe in range(n_pes)]


def turned(me: int, n_pes: int, block_elems: int) -> list[int]:
    """Uneven counts of an all-to-all: PEs i and j send each other parts of the same length."""
    return [uneven(n_pes, block_elems)[(me + pe) % n_pes] for pe in range(n_pes)]


CUT: dict[str, Any] = {"source_cut": True, "target_cut": True, "in_place": ""}  # a block for each PE in both buffers
CASES = {
    case.name: case
    for case in (
        Case("allreduce", lambda n: 2 * (n - 1) / n, lambda me, n, elems, root: [(REDUCED, 0, elems)], reduces=True),
        Case("reduce_scatter", lambda n: (n - 1) / n, lambda me, n, elems, root: [(REDUCED, me * elems, elems)],
             source_cut=True, in_place="target in source", reduces=True),
        Case("all_gather", lambda n: (n - 1) / n, lambda me, n, elems, root: [(pe, 0, elems) for pe in range(n)],
             target_cut=True, in_place="source in target"),
        Case("broadcast", lambda n: 1.0, lambda me, n, elems, root: [(root, 0, elems)], rooted=True),
        Case("reduce", lambda n: 1.0, lambda me, n, elems, root: [(REDUCED, 0, elems)] if me == root else [],
             reduces=True, rooted=True),
        Case("all_to_all", lambda n: (n - 1) / n,
             lambda me, n, elems, root: [(pe, me * elems, elems) for pe in range(n)], **CUT),
        Case("all_gatherv", lambda n: (n - 1) / n,
             lambda me, n, elems, root: [(pe, 0, uneven(n, elems)[pe]) for pe in range(n)],
             counts=lambda me, n, elems: ([uneven(n, elems)[me]] * n, uneven(n, elems)), **CUT),
        Case("reduce_scatterv", lambda n: (n - 1) / n,
             lambda me, n, elems, root: [(REDUCED, sum(uneven(n, elems)[:me]), uneven(n, elems)[me])], reduces=True,
             counts=lambda me, n, elems: (uneven(n, elems), [uneven(n, elems)[me]] * n), **CUT),
        Case("all_to_allv", lambda n: (n - 1) / n,
             lambda me, n, elems, root: [(p, sum(turned(p, n, elems)[:me]), turned(p, n, elems)[me]) for p in range(n)],
             counts=lambda me, n, elems: (turned(me, n, elems), turned(me, n, elems)), **CUT),
        Case("exchange", lambda n: 1.0, lambda me, n, elems, root: [(partner(me, n), 0, elems)]),
        Case("put", lambda n: 1.0, lambda me, n, elems, root: [((me - 1) % n, 0, elems)], in_place=""),
    )
}  # fmt: skip
