"""Primitives: functions that ``bind`` replaces by a backend's implementations; and constants of theirs."""

from collections.abc import Callable
from types import FunctionType
from typing import Annotated, Any, TypeAlias

Elements: TypeAlias = Annotated[int, "Elements"]
"""Annotation of a kernel's parameter, or of a field of its record, that takes an array of the kernel's dtype, for
``load``, ``store`` and puts.  In the kernel it is the address of the first element."""
Words: TypeAlias = Annotated[int, "Words"]
"""Annotation of a parameter or field that takes an array of int64 or uint64, such as signals.  In the kernel it is the
address of the first word."""
POISON = 1 << 62  # a PE that gave up adds this to every signal and epoch that it sends; all epochs are smaller
EPOCH_BITS = 46  # bits of a round's number; the tag of the call lies above them, below POISON
SENDS, TAKES, DIFFERS = 1, 2, 3  # reasons of ``refuse_count``: a part is outside x; outside out; counts differ


plain_python: dict[str, Callable[..., Any]] = {}
"""Implementations, by the primitives' names, while pennympi/simulator/ runs kernels in plain Python; else empty."""


def primitives(module: dict[str, Any]) -> None:
    """Make the functions of a module primitives.  module: its globals"""
    for name, value in list(module.items()):
        if isinstance(value, FunctionType) and value.__module__ == module["__name__"]:
            module[name] = stub_of(value)


def stub_of(function: Callable[..., Any]) -> Callable[..., Any]:
    """A stub that ``bind`` replaces; it raises if plain Python calls it."""

    def stub(*args: Any) -> Any:
        if function.__name__ in plain_python:
            return plain_python[function.__name__](*args)
        raise NotImplementedError(
            f"{function.__name__}() is a kernel primitive: it runs inside a kernel "
            "compiled by a team (team.kernel, team.allreduce, ...), not in plain Python"
        )

    stub.__name__, stub.__qualname__, stub.__doc__ = function.__name__, function.__name__, function.__doc__
    stub.__module__ = function.__module__
    stub.__wrapped__ = function  # type: ignore[attr-defined]  # whose signature help() shows
    stub.is_primitive = True  # type: ignore[attr-defined]
    return stub
