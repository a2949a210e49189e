"""A user's arrays on every PE, and their contents before a call and after it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

import numpy as np

from pennympi.simulator.device import Machine
from pennympi.simulator.faults import Fault
from pennympi.simulator.memory import SCRIBBLE

from .launching import DTYPES

ARRAY_BYTES = 1 << 16  # of each array of a user
ARRAYS = 5  # number of symmetric arrays, and of plain arrays


class Arrays:
    """A user's arrays on every PE.  Between two calls all their bytes are SCRIBBLE."""

    def __init__(self, machine: Machine, plain: bool):
        self.machine = machine
        self.symmetric = [machine.memory.allocate(ARRAY_BYTES) for _ in range(ARRAYS)]
        self.plain = [machine.memory.allocate(ARRAY_BYTES, plain=True) for _ in range(ARRAYS)] if plain else []
        for pe in range(machine.n_pes):
            for at in self.symmetric + self.plain:
                self.of(pe, at)[:] = SCRIBBLE

    def of(self, pe: int, address: int) -> np.ndarray:
        """The bytes of the array at this address."""
        return self.machine.memory.bytes[pe][address : address + ARRAY_BYTES]

    def draw(self, rng: Random, n: int) -> list[int]:
        return rng.sample(self.symmetric + self.plain, n)

    def scribble(self, pe: int, address: int) -> None:
        self.of(pe, address)[:] = SCRIBBLE

    def must_be_scribbled(self, pe: int, address: int) -> None:
        """Raises Fault if a PE wrote to the array between two calls, except for a PE that gave up."""
        if not self.machine.patience.gave_up[pe] and (self.of(pe, address) != SCRIBBLE).any():
            raise Fault(f"an array of PE {pe} was written after the call that it belonged to")

    def must_all_be_scribbled(self) -> None:
        for pe in range(self.machine.n_pes):
            for at in self.symmetric + self.plain:
                self.must_be_scribbled(pe, at)


def must_be(data: np.ndarray, wanted: np.ndarray) -> None:
    """Raises Fault for wrong bytes."""
    wrong = np.flatnonzero(data != wanted)
    if len(wrong):
        raise Fault(f"wrong bytes in an array: {len(wrong)} from byte {wrong[0]} to {wrong[-1]}")


@dataclass
class Held:
    """Contents of one PE's arrays, (address, first byte, data) each, before a call and after it."""

    before: list[tuple[int, int, np.ndarray]] = field(default_factory=list)
    after: list[tuple[int, int, np.ndarray]] = field(default_factory=list)
    arrays: set[int] = field(default_factory=set)

    def give(self, address: int, low: int, data: np.ndarray) -> None:
        self.before.append((address, low, np.ascontiguousarray(data).view(np.uint8)))
        self.arrays.add(address)

    def expect(self, address: int, low: int, data: np.ndarray) -> None:
        self.after.append((address, low, np.ascontiguousarray(data).view(np.uint8)))
        self.arrays.add(address)

    def begin(self, arrays: Arrays, pe: int) -> Callable[[], None]:
        """A function for the moment at which the call begins on this PE."""

        def at_once() -> None:
            for at in sorted(self.arrays):
                arrays.must_be_scribbled(pe, at)
            for at, low, data in self.before:
                arrays.of(pe, at)[low : low + len(data)] = data

        return at_once

    def end(self, arrays: Arrays, pe: int) -> Callable[[], None]:
        """A function for the moment at which the call ends: it checks all bytes, and frees the arrays for other calls."""

        def at_once() -> None:
            for at in () if arrays.machine.patience.gave_up[pe] else sorted(self.arrays):
                wanted = np.full(ARRAY_BYTES, SCRIBBLE, np.uint8)
                for one, low, data in self.before + self.after:
                    if one == at:
                        wanted[low : low + len(data)] = data
                must_be(arrays.of(pe, at), wanted)
                arrays.scribble(pe, at)

        return at_once


def values(rng: Random, n_pes: int, count: int, dtype: str) -> list[np.ndarray]:
    """(count,) elements of each PE, whose sums are exact."""
    item = DTYPES[dtype][0]
    numbers = np.random.default_rng(rng.getrandbits(32)).integers(0, 100, (n_pes, count))
    return list(numbers.astype(item))
