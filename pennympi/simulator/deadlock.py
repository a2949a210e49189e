"""The message of a Deadlock: the waits of all PEs."""

from typing import TYPE_CHECKING, Any

from .fibers import Fiber
from .launches import Block, Warp
from .memory import EPOCHS

if TYPE_CHECKING:
    from .device import Machine

MOST_NAMED = 8


def described(machine: "Machine") -> str:
    """The waits that nothing will end; without waits for launches that wait themselves."""
    waits = [fiber for fiber in machine.alive if not isinstance(fiber.waits_for[0], Block)]
    busy = {fiber.pe for fiber in waits if isinstance(fiber, Warp)}
    waits = [fiber for fiber in waits if fiber.waits_for[0] != "stream" or fiber.pe not in busy]
    waits.sort(key=lambda fiber: fiber.pe)
    more = f"; and {len(waits) - MOST_NAMED} more" if len(waits) > MOST_NAMED else ""
    return "no PE can go on: " + "; ".join(_wait(machine, fiber) for fiber in waits[:MOST_NAMED]) + more


def _wait(machine: "Machine", fiber: Fiber) -> str:
    line = machine.memory.lines.of(fiber.gr_frame)
    who = f"PE {fiber.pe}"
    if isinstance(fiber, Warp):
        who += f" in {fiber.launch.what}, block {fiber.block.index},"
        line = line or fiber.launch.line
    return f"{who} at {machine.memory.lines.text(line)} waits for {_awaited(machine, fiber)}"


def _awaited(machine: "Machine", fiber: Fiber) -> str:
    key: Any = fiber.waits_for
    if isinstance(key[0], int):
        pe, address = key
        content, wanted = machine.memory.load(pe, address), fiber.wanted if isinstance(fiber, Warp) else 0
        if wanted >= EPOCHS:  # the word is an epoch with the call's tag
            call = machine.call_texts.get(wanted // EPOCHS, "a call")
            return f"round {wanted % EPOCHS} of {call}, and found is round {content % EPOCHS}"
        return f"{machine.memory.described(pe, address)} to be at least {wanted}, and it is {content}"
    kind, *what = key
    return {
        "line": "packets",
        "fence": "its puts to arrive",
        "channel": "its puts to arrive",
        "quiet": "its puts to arrive",
        "lock": "a lock",
        "arrivals": "blocks of its launch",
        "stream": "its launches",
        "event": "an event of another stream",
        "meeting": " ".join(map(str, what[1:])),
    }[kind]
