"""The kind of a call: everything except addresses that its launch depends on.  Calls of equal kinds share a launch."""

from typing import NamedTuple

from ..arrays.dtypes import TABLE as DTYPES
from ..arrays.dtypes import DType
from ..kernels.records import Parts, Reduction, Transfer

BYTE = DTYPES["uint8"]  # kernels that only move data count bytes, whatever the dtype
NO_ADDRESSES = ("root", "out_is_symmetric")  # the ``params`` that are not addresses
Addresses = tuple[int, ...]  # addresses of a call's arrays, in the order of ``params``


class Kind(NamedTuple):
    """A call of a kernel that takes a ``Reduction``, a ``Transfer`` or, for parts of any length, ``Parts``.

    n_elems:  number of elements of a PE's array or part; with counts, of the largest part, 0: only the device knows it
    op:       "" for a call that only moves data
    aligned:  True if every address is a multiple of 16 bytes
    root:     number of the PE that gets the result, or that sends; None: all PEs
    residual: True if the call adds a residual
    out_is_symmetric: True if peers may write ``out`` of this PE directly
    counts:   text about the parts' lengths; "": a call without counts.  The counts are passed as addresses
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
        """The fields of the record that a call sets, first its addresses.  In the machine code all other fields are 0."""
        if self.counts:
            return Parts._fields[:9]
        if not self.op:
            return ("out", "src", "out_is_symmetric" if self.root is None else "root")
        return ("out", "src", *("residual",) * self.residual, *("root",) * (self.root is not None))

    @property
    def size(self) -> tuple[int, DType]:
        """The elements that a plan divides: their number and dtype."""
        return (self.n_elems, self.dtype) if self.op else (self.n_elems * self.dtype.item_bytes, BYTE)

    @property
    def texts(self) -> list[str]:
        """The parts of a text about the call, which are the same on every PE; "" for a part without content."""
        root = "" if self.root is None else f"root {self.root}"
        return [f"{self.counts or self.n_elems} {self.dtype.name}", self.op, "with a residual" * self.residual, root]

    def record(self, piece_elems: int) -> Reduction | Transfer | Parts:
        """The record that the kernel takes, with 0 for the addresses.  piece_elems: the plan's elements in a piece"""
        count, dtype = self.size
        if self.counts:
            return Parts(0, 0, 0, 0, 0, 0, 0, 0, 0, dtype.item_bytes, piece_elems * dtype.item_bytes)
        if self.op:
            return Reduction(0, 0, count, piece_elems, dtype.item_bytes, dtype.acc_bytes, 0, self.root or 0)
        return Transfer(0, 0, count, piece_elems, self.root or 0, int(self.out_is_symmetric))
