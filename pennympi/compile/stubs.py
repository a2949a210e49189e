"""Stubs, in the implementations of primitives, of the instructions and numbers that are made for each kernel.

An implementation names a stub like any other global.  ``bind`` replaces the stub by the instruction or number for the
kernel's dtype, op and team.  If a stub is not replaced, an error names it, as for a primitive.
"""

from typing import Any

from ..kernels.primitive import stub_of

instruction: Any = stub_of


def number(name: str, doc: str) -> Any:
    """The stub of a constant."""

    def stub() -> None: ...

    stub.__name__, stub.__doc__ = name, doc
    return stub_of(stub)
