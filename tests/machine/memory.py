"""The memory of all PEs: a flat array of bytes each, with the same addresses, and objects with bounds."""

from bisect import bisect_right

import numpy as np

from .faults import Fault

GAP_BYTES = 64  # between objects, so that no access crosses from one into the next unseen
POISON = 1 << 62  # what a PE that gave up adds to what it sends
EPOCHS = 1 << 46  # numbers of rounds: a call's tag is a multiple of it
SCRIBBLE = 0xA5  # every byte of a user's array between two calls


class Memory:
    """Addresses are offsets; 0 is no address.

    bytes: of each PE, its memory (uint8);  words: the same as int64
    """

    def __init__(self, n_pes: int, nbytes: int):
        self.bytes = [np.zeros(nbytes, np.uint8) for _ in range(n_pes)]
        self.words = [memoryview(one).cast("q") for one in self.bytes]
        self._starts, self._ends, self._plain = [0], [0], [False]
        self._size = nbytes

    def allocate(self, nbytes: int, plain: bool = False, parts: int = 1) -> int:
        """Address of an object on every PE.  plain: outside the symmetric heap;  parts: equal objects in a row"""
        start = -(-(self._ends[-1] + GAP_BYTES) // GAP_BYTES) * GAP_BYTES
        assert start + nbytes <= self._size, "the machine's memory is too small for this program"
        for k in range(parts):
            self._starts.append(start + k * nbytes // parts)
            self._ends.append(start + (k + 1) * nbytes // parts)
            self._plain.append(plain)
        return start

    def elements(self, pe: int, address: int, count: int, dtype: np.dtype) -> np.ndarray:
        """View of ``count`` elements.  Raises Fault if they are not inside one object, or not aligned."""
        size = dtype.itemsize
        self.holds(address, count * size)
        if address % size:
            raise Fault(f"address {address} of {size}-byte elements is not aligned")
        return self.bytes[pe][address : address + count * size].view(dtype)

    def holds(self, address: int, nbytes: int) -> int:
        """Number of the object that holds these bytes.  Raises Fault if none does."""
        at = bisect_right(self._starts, address) - 1
        if address + nbytes > self._ends[at]:
            bounds = f"bytes {self._starts[at]}..{self._ends[at]}"
            raise Fault(f"{nbytes} bytes at {address} are outside their object, which has {bounds}")
        return at

    def load(self, pe: int, address: int) -> int:
        """A word of a PE.  Raises Fault if it is outside its object."""
        self.holds(address, 8)
        return self.words[pe][address >> 3]

    def store(self, pe: int, address: int, value: int) -> None:
        """Set a word of a PE.  Raises Fault if it is outside its object."""
        self.holds(address, 8)
        self.words[pe][address >> 3] = value

    def is_plain(self, address: int) -> bool:
        """Whether an address lies outside the symmetric heap."""
        return self._plain[bisect_right(self._starts, address) - 1]


def rounds_after(found: int, value: int) -> int:
    """How many rounds a word is ahead of ``value``, whatever calls the two are of."""
    ahead = (found - value) % EPOCHS
    return ahead if ahead < EPOCHS // 2 else ahead - EPOCHS


def is_of_another_call(found: int, value: int) -> bool:
    """Whether a word is of the same round as ``value``, and of another call."""
    return found < POISON and found != value and rounds_after(found, value) == 0
