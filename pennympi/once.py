"""Results that a process makes once, whichever thread asks first."""

from collections.abc import Callable
from functools import cache, wraps
from threading import RLock
from typing import Any, TypeVar, cast

Make = TypeVar("Make", bound=Callable[..., Any])
_lock = RLock()  # all results share it, since making machine code may need other machine code


def once(make: Make) -> Make:
    """``functools.cache`` for results that must not be made twice, such as machine code whose address is in use.

    With ``functools.cache`` two threads may make a result each; the second replaces the first, which is freed.
    """
    cached = cache(make)

    @wraps(make)
    def get(*args: Any, **kwargs: Any) -> Any:
        with _lock:
            return cached(*args, **kwargs)

    return cast(Make, get)
