"""The kind of a call: what its launch depends on, beside the addresses of its arrays.  Calls of equal kinds share it."""

from typing import NamedTuple

from ..arrays.dtypes import TABLE as DTYPES
from ..arrays.dtypes import DType
from ..kernels.records import Parts, Reduction, Transfer

BYTE = DTYPES["uint8"]  # kernels that only move data count bytes, whatever the dtype
NUMBERS = ("root", "out_is_symmetric")  # the ``params`` that are no addresses
Addresses = tuple[int, ...]  # of a call's arrays, in the order of ``params``


class Kind(NamedTuple):
    """A call by a kernel that takes a ``Reduction``, a ``Transfer`` or, where its parts have any length, ``Parts``.

    n_elems:  of one PE's part, where an array has parts; of the largest part of all PEs, 0 if only the device knows it
    op:       "" for a call that only moves data
    aligned:  every address is a multiple of 16 bytes
    root:     the PE that gets the result, or that sends; None: all do
    residual: the call adds one
    out_is_symmetric: peers may write ``out`` of this PE directly
    counts:   of parts of any length, in words;  what changes is then among the addresses
    """

    n_elems: int
    dtype: DType
    op: str = ""
    aligned: bool = False
    root: int | None = None
    residual: bool = False
    out_is_symmetric: bool = False
    counts: str = ""

    @property
    def params(self) -> tuple[str, ...]:
        """The fields of the record that a call sets, first its addresses.  Of all others the machine code holds a 0."""
        if self.counts:
            return Parts._fields[:9]
        if not self.op:
            return ("out", "src", "out_is_symmetric" if self.root is None else "root")
        return ("out", "src", *("residual",) * self.residual, *("root",) * (self.root is not None))

    @property
    def size(self) -> tuple[int, DType]:
        """What a plan cuts: elements, and their dtype."""
        return (self.n_elems, self.dtype) if self.op else (self.n_elems * self.dtype.item_bytes, BYTE)

    @property
    def words(self) -> list[str]:
        """The call, in words that are the same on every PE."""
        root = "" if self.root is None else f"root {self.root}"
        return [f"{self.counts or self.n_elems} {self.dtype.name}", self.op, "with a residual" * self.residual, root]

    def record(self, piece_elems: int) -> Reduction | Transfer | Parts:
        """What the kernel takes, with 0 in place of the addresses.  piece_elems: as the plan cuts ``size``"""
        count, dtype = self.size
        if self.counts:
            return Parts(0, 0, 0, 0, 0, 0, 0, 0, 0, dtype.item_bytes, piece_elems * dtype.item_bytes)
        if self.op:
            return Reduction(0, 0, count, piece_elems, dtype.item_bytes, dtype.acc_bytes, 0, self.root or 0)
        return Transfer(0, 0, count, piece_elems, self.root or 0, int(self.out_is_symmetric))
