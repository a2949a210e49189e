"""What the PEs of one node know of one another: a small table in shared memory, with a record for each of them.

It is read when something goes wrong, for the message that says what every PE was doing.  Both backends use it.
"""

from __future__ import annotations

import ctypes
import time
import zlib
from collections import deque
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any, NamedTuple

from . import liveness
from .process import Process, halted, named, on_host
from .shared_memory import SharedMemory

LEAVING, DONE = 1, 2  # the states of a PE, 0 before; DONE: it may end at any time
NO_PE, ANY_PE = -2, -1  # for whom a PE waits: for no PE, for one that is not known
BELIEVED_NS = 200_000_000  # a wait that looked at the clock within this time is taken to go on
_TEXT_BYTES, _MOST_TEXTS = 96, 64  # of one text; texts that a PE can write down
_CALL = 1 << 22  # progress = calls entered * _CALL + tag * _MOST_TEXTS + slot of the last call: one store writes all
_COMPARED, _NAMED = 4096, 8  # calls since the last meeting that are compared there; of these, those that a message names
_libc = ctypes.CDLL(None)


class CallText(ctypes.Structure):
    """The text of a call, and ``tag_of`` it.  The tag is 0 while the bytes are of no text."""

    _fields_ = (("tag", ctypes.c_int64), ("text", ctypes.c_char * _TEXT_BYTES))


class Part(ctypes.Structure):
    """What a PE writes about itself.  A part fills whole pages, so that a PE's stores do not slow the other PEs.

    alive_ns, waits_for, looked_ns: one after another, as liveness.WAITS_FOR and LOOKED count them
    ends, claimed: of the node, in its first PE's part
    """

    _fields_ = (
        ("progress", ctypes.c_int64),
        ("state", ctypes.c_int64),
        ("alive_ns", ctypes.c_int64),
        ("waits_for", ctypes.c_int64),
        ("looked_ns", ctypes.c_int64),
        ("ends", ctypes.c_int64),
        ("claimed", ctypes.c_byte * 32),  # a sem_t
        ("texts", CallText * _MOST_TEXTS),
    )


class Recent(NamedTuple):
    """The calls of a PE since its last meeting.

    digest: equal for equal calls;  number: of the last call, which is the meeting that it has come to
    texts:  that describe the last few calls, in order
    """

    digest: int
    number: int
    texts: tuple[str, ...]


def tag_of(text: str) -> int:
    """16 bits, not all zero, that distinguish one description of a call from another."""
    return zlib.crc32(text.encode()) & 0xFFFF or 1


class Control:
    """The table of one node.  Making a Control is collective over its team.

    me:        this PE in the team
    processes: of the team, in order of PE
    gather:    over the team: gives what every PE passes
    pes:       the PEs of this node, in order;  local, n_local: this PE's place among them, and their number
    beside:    the PEs of this machine, in order: those of this node, and others that can't share memory with them
    """

    def __init__(self, me: int, processes: Sequence[Process], gather: Callable[[Any], list[Any]]):
        self.me, self.processes = me, processes
        self.pes = [pe for pe, process in enumerate(processes) if process.node == processes[me].node]
        self.local, self.n_local = self.pes.index(me), len(self.pes)
        self.machine_pes = [pe for pe, process in enumerate(processes) if process.machine == processes[me].machine]
        n_bytes = ctypes.sizeof(Part) + 8 * len(processes)
        self._memory = SharedMemory(gather, me, self.pes, n_bytes, "the table of its node's PEs")
        buffer, starts = self._memory.buffer, range(0, self._memory.nbytes, self._memory.part_bytes)
        self._parts: Any = {pe: Part.from_buffer(buffer, at) for pe, at in zip(self.pes, starts, strict=True)}
        self._own, self._first = self._parts[me], self._parts[self.pes[0]]
        # After the first PE's part: when each PE of another node was last alive.
        self._far = (ctypes.c_int64 * len(processes)).from_buffer(buffer, ctypes.sizeof(Part))
        self._semaphore = ctypes.byref(self._first, Part.claimed.offset)
        if self.local == 0:
            _libc.sem_init(self._semaphore, 1, 1)  # for all processes that map it; one may take it
        self._places: dict[str, int] = {}  # tag * _MOST_TEXTS + slot of each text that is written down, the oldest first
        self._calls = 0  # calls entered * _CALL
        self._met_at = 0  # calls up to the last meeting
        self._recent: deque[str] = deque(maxlen=_COMPARED)
        self._recall = self._recent.append
        liveness.add_word(self.last_alive_address(me))
        liveness.show_alive(time.monotonic_ns())
        gather(None)  # from here on the others may use the table, too

    def enter(self, text: str) -> None:
        """Write down that this PE enters a call that every PE makes.  Costs about 0.15 us.  text: describes the call"""
        try:
            place = self._places[text]
        except KeyError:
            place = self.write_down(text)
        self._calls = calls = self._calls + _CALL
        self._own.progress = calls + place
        self._recall(text)

    def write_down(self, text: str) -> int:
        """Let the others find the text of a call, in place of the oldest one.  Returns its tag and slot in one number."""
        if text in self._places:
            return self._places[text]
        slot, tag = len(self._places), tag_of(text)
        if slot == _MOST_TEXTS:
            slot = self._places.pop(next(iter(self._places))) % _MOST_TEXTS
        self._places[text] = place = tag * _MOST_TEXTS + slot
        written = self._own.texts[slot]
        written.tag = 0  # ``_text`` does not return what is written from here on
        written.text = text.encode()[:_TEXT_BYTES]
        written.tag = tag
        return place

    def set_state(self, state: int) -> None:
        """Write that this PE is LEAVING the program, or DONE."""
        self._own.state = state

    def claim(self) -> bool:
        """True for exactly one thread of all processes of the node: the one that may print why the job ends.

        The semaphore is never released, also not by the end of its process.
        """
        return bool(_libc.sem_trywait(self._semaphore) == 0)

    def end(self) -> None:
        """Write that the job ends: a launcher ends only the processes that it started."""
        self._first.ends = 1

    @property
    def ends(self) -> bool:
        """True once a PE of the node has called ``end``."""
        return bool(self._first.ends)

    @property
    def entered(self) -> int:
        """A number that grows with every call that this PE enters."""
        return self._calls

    def recent(self) -> Recent:
        """The calls of this PE since ``met`` was called, at least one of them."""
        calls = self._calls // _CALL
        since = "\n".join((str(calls - self._met_at), *self._recent))
        last = tuple(islice(reversed(self._recent), _NAMED))
        return Recent(zlib.crc32(since.encode()), calls, last[::-1])

    def met(self) -> None:
        """Begin to count anew: all PEs have compared their calls."""
        self._recent.clear()
        self._met_at = self._calls // _CALL

    def last_alive_address(self, pe: int) -> int:
        """Address, in this process, of the word that ``last_alive_ns`` reads."""
        if pe in self._parts:
            return ctypes.addressof(self._parts[pe]) + Part.alive_ns.offset
        return ctypes.addressof(self._far) + 8 * pe

    def last_alive_ns(self, pe: int) -> int:
        """When ``pe`` last showed a sign of life, in ns of this node's CLOCK_MONOTONIC; 0 where none has been heard."""
        return self._parts[pe].alive_ns if pe in self._parts else self._far[pe]

    def hear(self, pe: int, time_ns: int) -> None:
        """Write down when ``pe``, a PE of another node, showed a sign of life (beats.py)."""
        self._far[pe] = time_ns

    def state(self, pe: int) -> int:
        """LEAVING, DONE or 0, for a PE of this node."""
        return self._parts[pe].state

    def call(self, pe: int) -> str:
        """The last call that ``pe``, a PE of this node, entered: "allreduce of 8 float32, sum (call 7)"."""
        number, place = divmod(self._parts[pe].progress, _CALL)
        return f"{self._text(pe, *divmod(place, _MOST_TEXTS)) or 'a call'} (call {number})" if number else "no call yet"

    def find(self, pe: int, tag: int) -> str | None:
        """A call that ``pe`` has written down and whose ``tag_of`` this is; None if there is none on this node."""
        slots = range(_MOST_TEXTS if pe in self._parts else 0)
        return next((text for slot in slots if (text := self._text(pe, tag, slot))), None)

    def _text(self, pe: int, tag: int, slot: int) -> str | None:
        """What is written in a slot; None if it is not, or no longer, a text with this tag."""
        written = self._parts[pe].texts[slot]
        if written.tag != tag:
            return None
        text: str = written.text.decode(errors="replace")
        return text if written.tag == tag else None

    def show_waiting(self, pe: int) -> None:
        """Write that this PE waits for ``pe`` now.  The waits of host kernels do so themselves."""
        self._own.waits_for = pe
        self._own.looked_ns = time.monotonic_ns()

    def waits_for(self, pe: int) -> int:
        """The PE that ``pe``, a PE of this node, waits for; ANY_PE, or NO_PE."""
        part = self._parts[pe]
        waits = time.monotonic_ns() - part.looked_ns < BELIEVED_NS
        return part.waits_for if waits else NO_PE

    def in_vain(self) -> list[int]:
        """The PEs of this node that wait for this PE, which is leaving, or for any PE where none can come."""
        if self.waits_for(self.me) != NO_PE:
            return []  # what they wait for may still come
        waits = {pe: self.waits_for(pe) for pe in self.pes if pe != self.me and self.state(pe) < LEAVING}
        none_comes = len(self.pes) == len(self.processes) and NO_PE not in waits.values()
        return [pe for pe, whom in waits.items() if whom == self.me or (whom == ANY_PE and none_comes)]

    def describe(self, pe: int) -> str:
        """What ``pe`` is doing, in words, as far as this node knows."""
        if pe not in self._parts:
            return f"PE {pe} is on another node" + self.on_host(pe).replace(" on", ",")
        if words := halted(self.processes, self.me, pe):
            return f"{words} after {self.call(pe)}"
        whom, doing = self.waits_for(pe), "last entered"
        if self.state(pe) >= LEAVING:
            doing = "left the program after"
        elif whom != NO_PE:
            doing = f"waits for {f'PE {whom}' if whom >= 0 else 'a signal'}; it last entered"
        return f"{named(self.processes, pe)} {doing} {self.call(pe)}"

    def on_host(self, pe: int) -> str:
        """ " on host1", or "" where the team is on one node."""
        return on_host(self.processes, pe)

    def close(self) -> None:
        """Give this PE's mapping of the table back."""
        liveness.remove_word(self.last_alive_address(self.me))
        del self._parts, self._own, self._first, self._far
        self._memory.close()
