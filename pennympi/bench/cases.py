"""What can be measured: one row for each collective, with nccl-tests' conventions.

Size S is that of the larger buffer; a block is what one PE gives or gets where
the vector is cut.  algbw = S / time, busbw = algbw times ``bus``.
"""

from collections.abc import Callable
from dataclasses import dataclass

from .pattern import REDUCED

Part = tuple[int, int, int]  # (row of the pattern, its first element, elements)


@dataclass(frozen=True)
class Case:
    """One row.

    cut:     the vector is cut into a block for each PE
    source, target: elements of the buffers, in blocks (1 or n_pes); without ``cut`` always 1
    in_place: where source and target lie then: "same", "source in target", "target in source" (at this PE's
             block), or "" when there is no such form
    reduces: takes an op;  rooted: takes a root
    bus:     n_pes -> busbw / algbw
    expected: (me, n_pes, block elements, root) -> what the target holds in the end
    """

    name: str
    sentence: str
    bus: Callable[[int], float]
    expected: Callable[[int, int, int, int], list[Part]]
    source_cut: bool = False
    target_cut: bool = False
    in_place: str = "same"
    reduces: bool = False
    rooted: bool = False

    def block(self, nbytes: int, item_bytes: int, n_pes: int) -> int:
        """Elements of one block for a size of ``nbytes``."""
        return nbytes // item_bytes // (n_pes if self.source_cut or self.target_cut else 1)

    def elements(self, block: int, n_pes: int) -> tuple[int, int]:
        """Elements of source and target."""
        return block * (n_pes if self.source_cut else 1), block * (n_pes if self.target_cut else 1)


def partner(me: int, n_pes: int) -> int:
    """The other PE of an exchange; the last of an odd number swaps with itself."""
    other = me ^ 1
    return other if other < n_pes else me


CASES = {
    case.name: case
    for case in (
        Case("allreduce", "every PE gets the reduction of all vectors", lambda n: 2 * (n - 1) / n,
             lambda me, n, block, root: [(REDUCED, 0, block)], reduces=True),
        Case("reduce_scatter", "every PE gets its block of the reduction", lambda n: (n - 1) / n,
             lambda me, n, block, root: [(REDUCED, me * block, block)],
             source_cut=True, in_place="target in source", reduces=True),
        Case("all_gather", "every PE gets every PE's block", lambda n: (n - 1) / n,
             lambda me, n, block, root: [(pe, 0, block) for pe in range(n)],
             target_cut=True, in_place="source in target"),
        Case("broadcast", "every PE gets the root's vector", lambda n: 1.0,
             lambda me, n, block, root: [(root, 0, block)], rooted=True),
        Case("reduce", "the root gets the reduction of all vectors", lambda n: 1.0,
             lambda me, n, block, root: [(REDUCED, 0, block)] if me == root else [], reduces=True, rooted=True),
        Case("all_to_all", "every PE gets a block from every PE", lambda n: (n - 1) / n,
             lambda me, n, block, root: [(pe, me * block, block) for pe in range(n)],
             source_cut=True, target_cut=True, in_place=""),
        Case("exchange", "PEs 2k and 2k + 1 swap their vectors", lambda n: 1.0,
             lambda me, n, block, root: [(partner(me, n), 0, block)]),
        Case("put", "every PE writes its vector to the next PE", lambda n: 1.0,
             lambda me, n, block, root: [((me - 1) % n, 0, block)], in_place=""),
    )
}  # fmt: skip
