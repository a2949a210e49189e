"""What is measured: this library by one algorithm, or a rival."""

from collections.abc import Callable
from typing import Any, Protocol

from ..arrays.dtypes import DType
from .cases import Case
from .memory import Memory

Call = Callable[[Any], None]  # in stream order; the stream is None for what runs on the host


class Contestant(Protocol):
    """One column of a comparison.

    name:    as in the table;  version: of the library
    on_device: calls are asynchronous and follow a stream
    memory:  where its buffers lie
    """

    name: str
    version: str
    on_device: bool
    memory: Memory

    def refuse(self, case: Case, dtype: DType, op: str) -> str:
        """Why it has no such operation, or ""."""

    def has(self, case: Case, in_place: bool) -> bool:
        """Whether it has the form with one buffer, or with two."""

    def call(self, case: Case, source: Any, target: Any, op: str, root: int) -> Call:
        """The operation on these arrays (target is source when in place)."""
