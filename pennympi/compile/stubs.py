"""Stand-ins, in the implementations of primitives, for instructions and numbers that each compilation makes anew.

An implementation names them like any other global; ``bind`` replaces each by what the kernel's dtype, op and team need.
If one is not replaced, an error names it, as for the primitives.
"""

from typing import Any

from ..kernels.primitive import stub_of

instruction: Any = stub_of


def number(name: str, doc: str) -> Any:
    """Stands for a constant."""

    def stub() -> None: ...

    stub.__name__, stub.__doc__ = name, doc
    return stub_of(stub)
