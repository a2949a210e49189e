"""From a kernel text to a function that a backend can compile.

A text names primitives; a backend has a body for each.  ``bind`` clones the
text with its globals rebound: a name that holds a primitive's stub becomes the
backend's compiled body, a plain function that the text calls is bound and
compiled along with it, and numbers stay the constants they are.
"""

import hashlib
import inspect
from collections.abc import Callable, Mapping
from functools import cache
from types import FunctionType
from typing import Any

# Parameters that a backend may turn into constants of the compiled kernel.
CONSTANTS = ("n_pes", "item_bytes", "acc_bytes", "residual")


def bind(
    text: Callable[..., Any],
    bodies: Mapping[str, Any],
    compile_helper: Callable[..., Any],
    constants: Mapping[str, Any] | None = None,
    tag: str = "",
) -> FunctionType:
    """Return ``text`` with every primitive replaced by ``bodies[name]``.

    compile_helper: makes a device function of a plain function that the text calls
    constants:      further globals, of the text and of the functions that it calls
    tag:            part of the clone's name: what it was bound with, since a compiled function's
                    symbol holds its name and its argument types, which are int64 whatever the dtype
    Raises KeyError (naming the primitive) when the backend has no body for it.
    """
    assert isinstance(text, FunctionType)
    rebound: dict[str, Any] = {**text.__globals__, **(constants or {})}
    for name in text.__code__.co_names:
        value: Any = text.__globals__.get(name)
        if value is not None and getattr(value, "primitive", False):
            if value.__name__ not in bodies:
                raise KeyError(f"this backend has no body for the primitive {value.__name__!r}")
            rebound[name] = bodies[value.__name__]
        elif isinstance(value, FunctionType):
            rebound[name] = compile_helper(bind(value, bodies, compile_helper, constants, tag))
    clone = FunctionType(text.__code__, rebound, text.__name__, text.__defaults__, text.__closure__)
    clone.__module__ = text.__module__
    clone.__qualname__ = f"{text.__qualname__}_{tag}" if tag else text.__qualname__
    return clone


@cache
def parameters(text: Callable[..., Any]) -> tuple[str, ...]:
    """Names of the text's parameters, in order; kept, since every first call of a size asks several times."""
    return tuple(inspect.signature(text).parameters)


def text_hash(text: Callable[..., Any]) -> str:
    """Digest of the files of a text and of all plain functions that it calls."""
    digest = hashlib.sha256()
    for source in sorted(_sources(text, set())):
        with open(source, "rb") as file:
            digest.update(file.read())
    return digest.hexdigest()[:16]


def _sources(text: Callable[..., Any], seen: set[Any]) -> set[str]:
    """The source files of a text and of the plain functions that it calls, and so on."""
    assert isinstance(text, FunctionType)
    seen.add(text)
    files = {inspect.getsourcefile(text) or text.__code__.co_filename}
    for name in text.__code__.co_names:
        value: Any = text.__globals__.get(name)
        if isinstance(value, FunctionType) and not hasattr(value, "primitive") and value not in seen:
            files |= _sources(value, seen)
    return files
