"""The memory of all PEs: a flat array of bytes each, with the same addresses, and objects with bounds.

Beside it each PE has objects at the addresses of its process: the plain arrays that a program passes.
"""

from bisect import bisect_right, insort
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np

from .clocks import Clocks
from .faults import OutOfBounds
from .lines import Lines
from .shadow import READ, VERBS, WRITE, Shadow

GAP_BYTES = 64  # between objects, so that no access crosses from one into the next unseen
POISON = 1 << 62  # what a PE that gave up adds to what it sends
EPOCHS = 1 << 46  # numbers of rounds: a call's tag is a multiple of it
SCRIBBLE = 0xA5  # every byte of a user's array between two calls
PEER = 1 << 48  # (1 + pe) * PEER is what an address of another PE's memory has more

Bytes = np.ndarray[Any, Any]


@dataclass
class Object:
    """Bytes that belong together, on every PE or on one.

    what:  for messages;  plain: outside the symmetric heap;  lives: not freed
    bytes: of an object of one process, its memory, which the array ``owner`` keeps
    """

    start: int
    stop: int
    what: str
    plain: bool = False
    lives: bool = True
    bytes: Bytes | None = None
    owner: Any = None
    shadows: dict[int, Shadow] = field(default_factory=dict)  # by PE


class Memory:
    """Addresses are offsets; 0 is no address.

    bytes: of each PE, its memory (uint8);  words: the same as int64
    clocks: of all who access it;  lines: where they do so
    """

    def __init__(self, n_pes: int, nbytes: int, rng: Random):
        self.bytes = [np.zeros(nbytes, np.uint8) for _ in range(n_pes)]
        self.words = [_words_of(one) for one in self.bytes]
        self.clocks, self.lines, self.size, self._rng = Clocks(), Lines(), nbytes, rng
        self.checks = True  # whether races are looked for
        self._objects = [Object(0, 0, "no array")]
        self._starts = [0]
        self._of_process: list[list[Object]] = [[] for _ in range(n_pes)]  # by start

    def allocate(self, nbytes: int, plain: bool = False, parts: int = 1, what: str = "memory") -> int:
        """Address of an object on every PE.  plain: outside the symmetric heap;  parts: equal objects in a row"""
        start = -(-(self._objects[-1].stop + GAP_BYTES) // GAP_BYTES) * GAP_BYTES
        assert start + nbytes <= self.size, "the machine's memory is too small for this program"
        for k in range(parts):
            low, high = (start + j * nbytes // parts for j in (k, k + 1))
            self._objects.append(Object(low, high, what, plain))
            self._starts.append(low)
        return start

    def adopt(self, pe: int, address: int, nbytes: int, owner: Any, what: str) -> None:
        """Let a PE's kernels use memory of this process, which ``owner`` keeps."""
        objects = self._of_process[pe]
        at = bisect_right(objects, address, key=lambda one: one.start) - 1
        if at >= 0 and address + nbytes <= objects[at].stop:
            return
        held: Any = (np.ctypeslib.ctypes.c_ubyte * nbytes).from_address(address)  # type: ignore[attr-defined]
        made = Object(address, address + nbytes, what, True, bytes=np.frombuffer(held, np.uint8), owner=owner)
        for one in [one for one in objects if one.start < made.stop and made.start < one.stop]:
            objects.remove(one)  # of an array that has died, or a part of this one
        insort(objects, made, key=lambda one: one.start)

    def object_at(self, pe: int, address: int, nbytes: int) -> Object:
        """The object that holds these bytes.  Raises OutOfBounds if none does."""
        if address < self.size:
            found = self._objects[bisect_right(self._starts, address) - 1]
        else:
            at = bisect_right(self._of_process[pe], address, key=lambda one: one.start) - 1
            found = self._of_process[pe][at] if at >= 0 else self._objects[0]
        if address + nbytes > found.stop or not found.lives:
            raise OutOfBounds(self._outside(pe, found, address, nbytes))
        return found

    def _outside(self, pe: int, found: Object, address: int, nbytes: int) -> str:
        if not found.lives:
            return f"{nbytes} bytes of {found.what}, which was freed"
        after = self._after(pe, address)
        if after and after.start - address < max(1, address - found.stop):
            return f"{nbytes} bytes, {after.start - address} bytes before {after.what}"
        size = found.stop - found.start
        return f"{nbytes} bytes from byte {address - found.start} on, of {found.what}, which has {size} bytes"

    def _after(self, pe: int, address: int) -> Object | None:
        """The first object that begins after an address."""
        objects = self._objects if address < self.size else self._of_process[pe]
        at = bisect_right(objects, address, key=lambda one: one.start)
        return objects[at] if at < len(objects) else None

    def view(self, pe: int, address: int, nbytes: int) -> Bytes:
        """The bytes at an address of PE ``pe``, which may be one of another PE's memory.  Raises OutOfBounds."""
        pe, address = located(pe, address)
        found = self.object_at(pe, address, nbytes)
        if found.bytes is None:
            return self.bytes[pe][address : address + nbytes]
        return found.bytes[address - found.start : address - found.start + nbytes]

    def shadow(self, pe: int, found: Object) -> Shadow:
        """Who has accessed an object on a PE."""
        made = found.shadows.get(pe)
        if made is None:
            made = Shadow(found.what, pe, found.stop - found.start, self.lines, self._rng)
            found.shadows[pe] = made
        return made

    def access(self, actor: Any, kind: int, pe: int, address: int, nbytes: int) -> Bytes:
        """``view``, after the check that something orders this access.  Raises OutOfBounds, Race."""
        if nbytes <= 0:
            return self.bytes[pe][:0]
        pe, address = located(pe, address)
        found = self.inside(actor, kind, pe, address, nbytes)
        low = address - found.start
        if self.checks and actor is not None:
            self.shadow(pe, found).note(actor.clock, actor.line(), kind, low, low + nbytes)
        if found.bytes is None:
            return self.bytes[pe][address : address + nbytes]
        return found.bytes[low : low + nbytes]

    def inside(self, actor: Any, kind: int, pe: int, address: int, nbytes: int) -> Object:
        """The object that an actor accesses.  Raises OutOfBounds."""
        try:
            return self.object_at(*located(pe, address), nbytes)
        except OutOfBounds as error:
            where = f" at {self.lines.text(actor.line())}" if actor else ""
            raise OutOfBounds(f"{error}, {VERBS[kind]}{where} on PE {pe}") from None

    def read(self, actor: Any, pe: int, address: int, nbytes: int) -> Bytes:
        """The bytes that an actor reads.  Raises OutOfBounds, Race."""
        return self.access(actor, READ, pe, address, nbytes)

    def write(self, actor: Any, pe: int, address: int, nbytes: int) -> Bytes:
        """The bytes that an actor is about to write.  Raises OutOfBounds, Race."""
        return self.access(actor, WRITE, pe, address, nbytes)

    def elements(
        self, pe: int, address: int, count: int, dtype: np.dtype[Any], actor: Any = None, kind: int = READ
    ) -> Bytes:
        """View of ``count`` elements.  Raises OutOfBounds if they are not inside one object, or not aligned."""
        size = dtype.itemsize
        if address % size:
            raise OutOfBounds(f"address {address} of {size}-byte elements is not aligned")
        return self.access(actor, kind, pe, address, count * size).view(dtype)

    def word(self, pe: int, address: int) -> memoryview:
        """A word of a PE.  Raises OutOfBounds if it is outside its object."""
        pe, address = located(pe, address)
        found = self.object_at(pe, address, 8)
        if address % 8:
            raise OutOfBounds(f"address {address} of a word is not aligned")
        if found.bytes is None:
            return self.words[pe][address >> 3 : (address >> 3) + 1]
        return _words_of(found.bytes[address - found.start :][:8])

    def load(self, pe: int, address: int) -> int:
        """A word of a PE.  Raises OutOfBounds."""
        return self.word(pe, address)[0]

    def store(self, pe: int, address: int, value: int) -> None:
        """Set a word of a PE.  Raises OutOfBounds."""
        self.word(pe, address)[0] = value

    def is_plain(self, pe: int, address: int) -> bool:
        """Whether an address lies outside the symmetric heap."""
        return self.object_at(*located(pe, address), 0).plain

    def free(self, address: int) -> None:
        """An object that nobody may access any more."""
        self._objects[bisect_right(self._starts, address) - 1].lives = False

    @property
    def free_bytes(self) -> int:
        """That can still be allocated."""
        return self.size - self._objects[-1].stop - 2 * GAP_BYTES

    def is_taken(self, address: int) -> bool | None:
        """Whether symmetric memory is allocated; None for what is not symmetric."""
        found = self._objects[bisect_right(self._starts, address) - 1]
        return None if found.plain else found.lives and address < found.stop

    def knows(self, pe: int, address: int) -> bool:
        """Whether an address is that of an array of the process that a PE has passed."""
        return any(one.start <= address < one.stop for one in self._of_process[pe])

    def whole(self, pe: int, address: int) -> Bytes:
        """All bytes of the object that begins at an address."""
        found = self._objects[bisect_right(self._starts, address) - 1]
        return self.bytes[pe][found.start : found.stop]

    def share(self, pe: int, address: int, shared: bool) -> None:
        """Let puts start from a plain array, or no longer."""
        self.object_at(pe, address, 0).plain = not shared

    def described(self, pe: int, address: int) -> str:
        """Such as "byte 8 of an array of ring.py:12"."""
        found = self.object_at(*located(pe, address), 0)
        return f"byte {located(pe, address)[1] - found.start} of {found.what}"


def _words_of(of_bytes: Any) -> memoryview:
    return memoryview(of_bytes).cast("q")


def located(pe: int, address: int) -> tuple[int, int]:
    """The PE whose memory an address of PE ``pe`` names, and the address there."""
    if address < PEER:
        return pe, address
    return (address >> 48) - 1, address & (PEER - 1)


def rounds_after(found: int, value: int) -> int:
    """How many rounds a word is ahead of ``value``, whatever calls the two are of."""
    ahead = (found - value) % EPOCHS
    return ahead if ahead < EPOCHS // 2 else ahead - EPOCHS


def is_of_another_call(found: int, value: int) -> bool:
    """Whether a word is of the same round as ``value``, and of another call."""
    return found < POISON and found != value and rounds_after(found, value) == 0
