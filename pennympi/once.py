"""What a process makes once, whichever thread asks first."""

from collections.abc import Callable
from functools import cache, wraps
from threading import RLock
from typing import Any, TypeVar, cast

Make = TypeVar("Make", bound=Callable[..., Any])
_lock = RLock()  # one for all: what makes machine code asks for other machine code


def once(make: Make) -> Make:
    """``functools.cache`` for what must not be made twice, such as machine code whose address is in use.

    With ``functools.cache`` two threads may both find nothing; the second result replaces the first, which is freed.
    """
    kept = cache(make)

    @wraps(make)
    def get(*args: Any, **kwargs: Any) -> Any:
        with _lock:
            return kept(*args, **kwargs)

    return cast(Make, get)
