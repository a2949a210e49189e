"""Launches, and plans, which are persistent calls: made once, called often."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, NoReturn

from ..annotations import Plan
from ..backend import Backend, Run
from ..memory.symmetric import SymmetricArrays


class Launch(NamedTuple):
    """A compiled call that needs only its addresses and a stream.

    run:     launches the kernel
    waits:   True if the kernel waits for peers in a stream: then it takes its place in the order
    text:    describes the call, in words that are the same on every PE
    """

    run: Run
    waits: bool
    text: str


def plan_of(
    backend: Backend,
    arrays: SymmetricArrays,
    enter: Callable[[str], None],
    launch: Launch,
    addresses: tuple[int, ...],
    kept: Sequence[Any],
    numbers: tuple[int, ...] = (),
) -> Plan:
    """A plan that runs a launch, keeps ``kept`` alive, and ends with its arrays and its team.

    enter:     counts a call, see ``CallGuard.count``
    addresses: of the plan's arrays;  numbers: what the launch leaves open, where that is not these addresses
    """
    given = numbers or addresses
    run, waits, text = launch
    handle_of, run_in_order = backend.streams.handle, backend.streams.order.enqueue

    def plan(stream: Any = None) -> None:
        """Run in stream order.  Collective."""
        enter(text)
        handle = handle_of(stream)
        if waits:
            run_in_order(run, given, handle, stream)
        else:
            run(*given, handle)

    def end(why_not: Callable[[str], NoReturn]) -> None:
        nonlocal enter
        enter = why_not

    plan.__name__ = plan.__qualname__ = f"plan of {text}"  # what repr shows
    plan.arrays = kept  # type: ignore[attr-defined]
    arrays.plans.add(plan, addresses, end)
    return plan
