"""The three kinds of calls.

A call's kind holds what its launch depends on, beside the addresses of its arrays: calls of equal kinds share a launch.
"""

from typing import NamedTuple

from ..arrays.dtypes import TABLE as DTYPES
from ..arrays.dtypes import DType
from ..kernels.records import Parts, Reduction, Transfer

BYTE = DTYPES["uint8"]  # kernels that only move data count bytes, whatever the dtype
NUMBERS = ("root", "out_is_symmetric")  # the ``params`` that are no addresses


class Reduced(NamedTuple):
    """A call that reduces elements, by a kernel that takes a ``Reduction``.

    n_elems:  of one PE's part, where an array has parts
    aligned:  every address is a multiple of 16 bytes
    root:     the PE that gets the result; None: all do
    residual: the call adds one
    """

    n_elems: int
    dtype: DType
    op: str
    aligned: bool
    root: int | None = None
    residual: bool = False

    @property
    def params(self) -> tuple[str, ...]:
        """The fields of the record that a call sets, first its addresses.  Of all others the machine code holds a 0."""
        return ("out", "src", *("residual",) * self.residual, *("root",) * (self.root is not None))

    @property
    def size(self) -> tuple[int, DType]:
        """What a plan cuts: elements, and their dtype."""
        return self.n_elems, self.dtype

    @property
    def words(self) -> list[str]:
        """The call, in words that are the same on every PE."""
        root = "" if self.root is None else f"root {self.root}"
        return [f"{self.n_elems} {self.dtype.name}", self.op, "with a residual" * self.residual, root]

    def record(self, piece_elems: int) -> Reduction:
        """What the kernel takes, with 0 in place of the addresses."""
        sizes = self.dtype.item_bytes, self.dtype.acc_bytes
        return Reduction(0, 0, self.n_elems, piece_elems, *sizes, 0, self.root or 0)


class Moved(NamedTuple):
    """A call that moves data, by a kernel that takes a ``Transfer``.  n_elems, aligned: see ``Reduced``

    root:             the PE that sends; None: all do
    out_is_symmetric: peers may write ``out`` of this PE directly
    """

    n_elems: int
    dtype: DType
    aligned: bool
    root: int | None = None
    out_is_symmetric: bool = False
    op: str = ""

    @property
    def params(self) -> tuple[str, ...]:
        return ("out", "src", "out_is_symmetric" if self.root is None else "root")

    @property
    def size(self) -> tuple[int, DType]:
        return self.n_elems * self.dtype.item_bytes, BYTE

    @property
    def words(self) -> list[str]:
        return [f"{self.n_elems} {self.dtype.name}", "" if self.root is None else f"root {self.root}"]

    def record(self, piece_bytes: int) -> Transfer:
        return Transfer(0, 0, self.size[0], piece_bytes, self.root or 0, int(self.out_is_symmetric))


class InParts(NamedTuple):
    """A call whose parts have any length, by a kernel that takes ``Parts``; what changes is among the addresses.

    counts:  the counts, in words
    n_elems: of the largest part of all PEs, 0 if only the device knows it
    op:      "" for a call that only moves data
    """

    counts: str
    n_elems: int
    dtype: DType
    op: str = ""
    aligned: bool = False

    @property
    def params(self) -> tuple[str, ...]:
        return Parts._fields[:9]

    @property
    def size(self) -> tuple[int, DType]:
        return (self.n_elems, self.dtype) if self.op else (self.n_elems * self.dtype.item_bytes, BYTE)

    @property
    def words(self) -> list[str]:
        return [f"{self.counts} {self.dtype.name}", self.op]

    def record(self, piece_elems: int) -> Parts:
        item_bytes = self.size[1].item_bytes
        return Parts(0, 0, 0, 0, 0, 0, 0, 0, 0, item_bytes, piece_elems * item_bytes)


Kind = Reduced | Moved | InParts
Addresses = tuple[int, ...]  # of a call's arrays, in the order of ``params``
