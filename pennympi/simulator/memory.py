"""The memory of all PEs: an array of bytes for each PE, with the same addresses, and objects with bounds.

Each PE also has objects at addresses of its process: the plain arrays that a program passes.
"""

from bisect import bisect_right, insort
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np

from ..kernels.block import EPOCH_BITS, POISON
from .clocks import Clocks
from .faults import OutOfBounds
from .lines import Lines
from .shadow import READ, VERBS, WRITE, Shadow

GAP_BYTES = 64  # gap between objects, so that no access crosses unnoticed from one object into the next
EPOCHS = 1 << EPOCH_BITS  # number of epochs without tags; a tag is a multiple of it
SCRIBBLE = 0xA5  # value of every byte of a user's array between two calls
PEER = 1 << 48  # (1 + pe) * PEER is added to addresses of another PE's memory

Bytes = np.ndarray[Any, Any]


@dataclass
class Object:
    """Bytes that belong together, on every PE or on one PE.

    what:  name in messages;  plain: outside the symmetric heap;  lives: not freed
    bytes: memory of an object at an address of the process, which the array ``owner`` keeps alive
    """

    start: int
    stop: int
    what: str
    plain: bool = False
    lives: bool = True
    bytes: Bytes | None = None
    owner: Any = None
    shadows: dict[int, Shadow] = field(default_factory=dict)  # {PE: shadow}


class Memory:
    """The memory of all PEs.  Addresses are offsets; 0 is no address.

    bytes:  memory of each PE (uint8);  words: the same memory as int64
    clocks: clocks of all actors;  lines: lines of their accesses
    """

    def __init__(self, n_pes: int, nbytes: int, rng: Random):
        self.bytes = [np.zeros(nbytes, np.uint8) for _ in range(n_pes)]
        self.words = [_words_of(memory) for memory in self.bytes]
        self.clocks, self.lines, self.size, self._rng = Clocks(), Lines(), nbytes, rng
        self.checks = True  # whether accesses are checked for races
        self._objects = [Object(0, 0, "no array")]
        self._starts = [0]
        self._of_process: list[list[Object]] = [[] for _ in range(n_pes)]  # sorted by start

    def allocate(self, nbytes: int, plain: bool = False, parts: int = 1, what: str = "memory") -> int:
        """Address of an object on every PE.  plain: outside the symmetric heap;  parts: number of equal objects in it"""
        start = -(-(self._objects[-1].stop + GAP_BYTES) // GAP_BYTES) * GAP_BYTES
        assert start + nbytes <= self.size, "the machine's memory is too small for this program"
        for k in range(parts):
            low, high = (start + j * nbytes // parts for j in (k, k + 1))
            self._objects.append(Object(low, high, what, plain))
            self._starts.append(low)
        return start

    def adopt(self, pe: int, address: int, nbytes: int, owner: Any, what: str) -> None:
        """Let a PE's kernels use memory of this process, which ``owner`` keeps alive."""
        objects = self._of_process[pe]
        k = bisect_right(objects, address, key=lambda obj: obj.start) - 1
        if k >= 0 and address + nbytes <= objects[k].stop:
            return
        held: Any = (np.ctypeslib.ctypes.c_ubyte * nbytes).from_address(address)  # type: ignore[attr-defined]
        new = Object(address, address + nbytes, what, True, bytes=np.frombuffer(held, np.uint8), owner=owner)
        for old in [obj for obj in objects if obj.start < new.stop and new.start < obj.stop]:
            objects.remove(old)  # its array has died, or is a part of the new one
        insort(objects, new, key=lambda obj: obj.start)

    def object_at(self, pe: int, address: int, nbytes: int) -> Object:
        """The object that holds these bytes.  Raises OutOfBounds if no object does."""
        if address < self.size:
            obj = self._objects[bisect_right(self._starts, address) - 1]
        else:
            k = bisect_right(self._of_process[pe], address, key=lambda obj: obj.start) - 1
            obj = self._of_process[pe][k] if k >= 0 else self._objects[0]
        if address + nbytes > obj.stop or not obj.lives:
            raise OutOfBounds(self._outside(pe, obj, address, nbytes))
        return obj

    def _outside(self, pe: int, obj: Object, address: int, nbytes: int) -> str:
        if not obj.lives:
            return f"{nbytes} bytes of {obj.what}, which was freed"
        after = self._after(pe, address)
        if after and after.start - address < max(1, address - obj.stop):
            return f"{nbytes} bytes, {after.start - address} bytes before {after.what}"
        size = obj.stop - obj.start
        return f"{nbytes} bytes from byte {address - obj.start} on, of {obj.what}, which has {size} bytes"

    def _after(self, pe: int, address: int) -> Object | None:
        """The first object that begins after an address."""
        objects = self._objects if address < self.size else self._of_process[pe]
        k = bisect_right(objects, address, key=lambda obj: obj.start)
        return objects[k] if k < len(objects) else None

    def shadow(self, pe: int, obj: Object) -> Shadow:
        """The accesses to an object on a PE."""
        shadow = obj.shadows.get(pe)
        if shadow is None:
            shadow = Shadow(obj.what, pe, obj.stop - obj.start, self.lines, self._rng)
            obj.shadows[pe] = shadow
        return shadow

    def access(self, actor: Any, kind: int, pe: int, address: int, nbytes: int) -> Bytes:
        """The bytes at an address of PE ``pe``, which may be in another PE's memory.  Raises OutOfBounds, Race.

        actor: the actor whose access must be ordered after earlier ones; None: it was checked before
        """
        if nbytes <= 0:
            return self.bytes[pe][:0]
        pe, address = located(pe, address)
        obj = self.inside(actor, kind, pe, address, nbytes)
        low = address - obj.start
        if self.checks and actor is not None:
            self.shadow(pe, obj).note(actor.clock, actor.line(), kind, low, low + nbytes)
        if obj.bytes is None:
            return self.bytes[pe][address : address + nbytes]
        return obj.bytes[low : low + nbytes]

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
        """The bytes that an actor will write.  Raises OutOfBounds, Race."""
        return self.access(actor, WRITE, pe, address, nbytes)

    def elements(
        self, pe: int, address: int, count: int, dtype: np.dtype[Any], actor: Any = None, kind: int = READ
    ) -> Bytes:
        """A view of ``count`` elements.  Raises OutOfBounds if they are not inside one object, or not aligned."""
        size = dtype.itemsize
        if address % size:
            raise OutOfBounds(f"address {address} of {size}-byte elements is not aligned")
        return self.access(actor, kind, pe, address, count * size).view(dtype)

    def word(self, pe: int, address: int) -> memoryview:
        """A word of a PE.  Raises OutOfBounds if it is outside its object."""
        pe, address = located(pe, address)
        obj = self.object_at(pe, address, 8)
        if address % 8:
            raise OutOfBounds(f"address {address} of a word is not aligned")
        if obj.bytes is None:
            return self.words[pe][address >> 3 : (address >> 3) + 1]
        return _words_of(obj.bytes[address - obj.start :][:8])

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
        """Free an object."""
        self.object_at(0, address, 0).lives = False

    @property
    def free_bytes(self) -> int:
        """Bytes that can still be allocated."""
        return self.size - self._objects[-1].stop - 2 * GAP_BYTES

    def is_taken(self, address: int) -> bool | None:
        """Whether symmetric memory is allocated; None for plain memory."""
        obj = self._objects[bisect_right(self._starts, address) - 1]
        return None if obj.plain else obj.lives and address < obj.stop

    def knows(self, pe: int, address: int) -> bool:
        """Whether an address lies in an array of the process that a PE has passed."""
        return any(obj.start <= address < obj.stop for obj in self._of_process[pe])

    def share(self, pe: int, address: int, shared: bool) -> None:
        """Allow or forbid puts that start from a plain array."""
        self.object_at(pe, address, 0).plain = not shared

    def described(self, pe: int, address: int) -> str:
        """A text such as "byte 8 of an array of ring.py:12"."""
        obj = self.object_at(*located(pe, address), 0)
        return f"byte {located(pe, address)[1] - obj.start} of {obj.what}"


def _words_of(of_bytes: Any) -> memoryview:
    return memoryview(of_bytes).cast("q")


def located(pe: int, address: int) -> tuple[int, int]:
    """The PE whose memory holds an address of PE ``pe``, and the address on that PE."""
    if address < PEER:
        return pe, address
    return (address >> 48) - 1, address & (PEER - 1)


def rounds_after(word: int, value: int) -> int:
    """Number of rounds by which a word is ahead of ``value``, whatever their calls."""
    ahead = (word - value) % EPOCHS
    return ahead if ahead < EPOCHS // 2 else ahead - EPOCHS


def is_of_another_call(word: int, value: int) -> bool:
    """Whether a word is of the same round as ``value``, and of another call."""
    return word < POISON and word != value and rounds_after(word, value) == 0
