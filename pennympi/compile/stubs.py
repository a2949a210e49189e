"""Stand-ins, in the implementations of primitives, for instructions and numbers that each compilation makes anew.

An implementation names them like any other global; ``bind`` replaces each by what the kernel's dtype, op and team need.
If one is not replaced, an error names it, as for the primitives.
"""

from collections.abc import Callable
from typing import Any


class Stub:
    """Stands for one instruction or number; ``bind`` replaces it by its name."""

    primitive = True

    def __init__(self, name: str, doc: str):
        self.__name__, self.__doc__ = name, doc

    def __call__(self, *args: Any) -> Any:
        raise NotImplementedError(f"{self.__name__} is a stub: the compiler of a kernel puts a value in its place")


def instruction(function: Callable[..., Any]) -> Any:
    """A stub with the name and the docstring of a function."""
    return Stub(function.__name__, function.__doc__ or "")


number: Any = Stub  # stands for a constant
