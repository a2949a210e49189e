"""The plans of a team that may still be called: a plan ends with its arrays, and with its team."""

from collections.abc import Callable, Sequence
from typing import Any, NoReturn
from weakref import WeakKeyDictionary

End = Callable[[Callable[..., NoReturn]], None]


class Plans:
    """Ends plans: a function that raises replaces their first step, so that a live plan needs no check at a call."""

    def __init__(self) -> None:
        self._ends: WeakKeyDictionary[Any, tuple[Sequence[int], End | None]] = WeakKeyDictionary()

    def add(self, plan: Any, addresses: Sequence[int], end: End | None = None) -> None:
        """Remember a plan until it dies.

        addresses: addresses of the plan's arrays
        end:       function that replaces the plan's first step by its argument; it must not refer to the plan, which then
                   would never die; None: the first step is ``plan._enter``
        """
        self._ends[plan] = addresses, end

    def addresses(self, plan: Any) -> Sequence[int] | None:
        """The addresses of a plan's arrays; None if ``plan`` is not a plan."""
        return next((addresses for known, (addresses, _) in self._ends.items() if known is plan), None)

    def end(self, error: type[Exception], text: str, start: int = 0, nbytes: int = 1 << 64) -> None:
        """Make the plans with an array that begins in these bytes raise the error."""

        def why_not(*args: Any) -> NoReturn:
            raise error(text)

        for plan, (addresses, end) in list(self._ends.items()):
            if any(start <= address < start + nbytes for address in addresses):
                if end:
                    end(why_not)
                else:
                    plan._enter = why_not
                del self._ends[plan]
