"""What the library needs to know of an array."""

from dataclasses import dataclass
from typing import Any

from .dtypes import DType


@dataclass(frozen=True, slots=True)
class Span:
    """Contiguous memory of one element type.

    address: of the first element, in this process;  count: elements
    """

    address: int
    count: int
    dtype: DType
    owner: Any

    @property
    def nbytes(self) -> int:
        """Bytes from the first element to the last."""
        return self.count * self.dtype.item_bytes
