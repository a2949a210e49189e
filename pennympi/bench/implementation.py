"""What is measured: this library with one algorithm, or another library."""

from collections.abc import Callable
from typing import Any, Protocol

from ..arrays.dtypes import DType
from .cases import Case
from .memory import Memory

Call = Callable[[Any], None]  # takes the stream, None on the host


class Implementation(Protocol):
    """One library, or one algorithm of this library.

    name:      in tables;  version: of the library, in words
    on_device: calls are asynchronous and follow a stream
    memory:    its buffers
    """

    name: str
    version: str
    on_device: bool
    memory: Memory

    def refuse(self, case: Case, dtype: DType, op: str) -> str:
        """Why it cannot run this case with this dtype and op, or "" if it can."""

    def has(self, case: Case, in_place: bool) -> bool:
        """Whether it has the in-place form of the case, or the out-of-place form."""

    def call(self, case: Case, source: Any, target: Any, op: str, root: int) -> Call:
        """The operation on these arrays, ready to be called.  target is source for in place.  Raises ValueError."""
