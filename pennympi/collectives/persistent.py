"""Launches, and plans: persistent calls, which are prepared once and run often."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, NoReturn

from ..annotations import Plan
from ..backend import Backend, Run
from ..memory.symmetric import SymmetricArrays


class Launch(NamedTuple):
    """A compiled call that needs only its addresses and a stream.

    run:     function that launches the kernel
    waits:   True if the kernel waits for peers in a stream, so that it belongs to the order
    text:    text about the call, the same on every PE
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

    enter:     function that counts a call, see ``CallGuard.count``
    addresses: addresses of the plan's arrays;  numbers: arguments of the launch, if they are not these addresses
    """
    arguments = numbers or addresses
    run, waits, text = launch
    handle_of, run_in_order = backend.streams.handle, backend.streams.order.enqueue

    def plan(stream: Any = None) -> None:
        """Run in stream order.  Collective."""
        enter(text)
        handle = handle_of(stream)
        if waits:
            run_in_order(run, arguments, handle, stream)
        else:
            run(*arguments, handle)

    def end(why_not: Callable[[str], NoReturn]) -> None:
        nonlocal enter
        enter = why_not

    plan.__name__ = plan.__qualname__ = f"plan of {text}"  # for repr
    plan.arrays = kept  # type: ignore[attr-defined]
    arrays.plans.add(plan, addresses, end)
    return plan
