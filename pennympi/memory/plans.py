"""The plans of a team that may still be called: a plan ends with its arrays, and with its team."""

from collections.abc import Callable, Sequence
from typing import Any, NoReturn
from weakref import WeakKeyDictionary

End = Callable[[Callable[..., NoReturn]], None]


class Plans:
    """Ends plans by putting a function that raises into the place of their first step: a call of a live plan looks at
    nothing."""

    def __init__(self) -> None:
        self._ends: WeakKeyDictionary[Any, tuple[Sequence[int], End | None]] = WeakKeyDictionary()

    def add(self, plan: Any, addresses: Sequence[int], end: End | None = None) -> None:
        """Remember a plan until it dies.

        addresses: of its arrays
        end:       takes what is to be called in the place of the plan's first step, and does not refer to the plan, which
                   would never die; None: that step is ``plan._enter``
        """
        self._ends[plan] = addresses, end

    def addresses(self, plan: Any) -> Sequence[int] | None:
        """Those of a plan's arrays; None for what is not a plan."""
        return next((addresses for known, (addresses, _) in self._ends.items() if known is plan), None)

    def end(self, error: type[Exception], text: str, start: int = 0, nbytes: int = 1 << 64) -> None:
        """Let the plans with an array that begins in these bytes raise the error from now on."""

        def why_not(*args: Any) -> NoReturn:
            raise error(text)

        for plan, (addresses, end) in list(self._ends.items()):
            if any(start <= address < start + nbytes for address in addresses):
                if end:
                    end(why_not)
                else:
                    plan._enter = why_not
                del self._ends[plan]
