"""The table of a node: a record of each of its PEs in shared memory, which both backends use.

Messages about failures read from it what every PE was doing.
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

LEAVING, DONE = 1, 2  # states of a PE, 0 before; DONE: the PE may end at any time
NO_PE, ANY_PE = -2, -1  # the awaited PE: none, or an unknown one
BELIEVED_NS = 200_000_000  # a wait that read the clock within this time is assumed to continue
_TEXT_BYTES, _MOST_TEXTS = 96, 64  # size of a text; number of texts of a PE
_CALL = 1 << 22  # progress = calls entered * _CALL + tag * _MOST_TEXTS + slot of the last call: one store writes all
_COMPARED, _NAMED = 4096, 8  # most calls since the last meeting that a meeting compares, and that a message names
_libc = ctypes.CDLL(None)


class CallText(ctypes.Structure):
    """The text of a call, and its ``tag_of``.  The tag is 0 while the text is being written."""

    _fields_ = (("tag", ctypes.c_int64), ("text", ctypes.c_char * _TEXT_BYTES))


class Entry(ctypes.Structure):
    """A PE's entry of the table, which only this PE writes.  It fills whole pages, so that stores do not slow other PEs.

    alive_ns, waits_for, looked_ns: neighbours, at the distances WAITS_FOR and LOOKED of liveness.py
    ends, claimed: fields of the node, used in the entry of its first PE
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

    digest: a digest, which is equal for equal calls;  number: number of the last call, which is a meeting
    texts:  texts of the last few calls, in order
    """

    digest: int
    number: int
    texts: tuple[str, ...]


def tag_of(text: str) -> int:
    """16 bits, not all zero, that distinguish descriptions of calls."""
    return zlib.crc32(text.encode()) & 0xFFFF or 1


class Control:
    """The table of a node.  The constructor is collective over the team.

    me:        number of this PE in the team
    processes: processes of the team, in order of PE
    gather:    function that gathers over the team: it returns what every PE passes
    pes:       the PEs of this node, in order;  local, n_local: this PE's index among them, and their number
    machine_pes: the PEs of this machine, in order: those of this node, and those that can't share memory with them
    """

    def __init__(self, me: int, processes: Sequence[Process], gather: Callable[[Any], list[Any]]):
        self.me, self.processes = me, processes
        self.pes = [pe for pe, process in enumerate(processes) if process.node == processes[me].node]
        self.local, self.n_local = self.pes.index(me), len(self.pes)
        self.machine_pes = [pe for pe, process in enumerate(processes) if process.machine == processes[me].machine]
        n_bytes = ctypes.sizeof(Entry) + 8 * len(processes)
        self._memory = SharedMemory(gather, me, self.pes, n_bytes, "the table of its node's PEs")
        buffer, starts = self._memory.buffer, range(0, self._memory.nbytes, self._memory.part_bytes)
        self._entries: Any = {pe: Entry.from_buffer(buffer, start) for pe, start in zip(self.pes, starts, strict=True)}
        self._own, self._first = self._entries[me], self._entries[self.pes[0]]
        # After the first PE's entry: the time of the last sign of life of each PE of another node.
        self._remote_alive_ns = (ctypes.c_int64 * len(processes)).from_buffer(buffer, ctypes.sizeof(Entry))
        self._semaphore = ctypes.byref(self._first, Entry.claimed.offset)
        if self.local == 0:
            _libc.sem_init(self._semaphore, 1, 1)  # shared between processes, with the value 1
        self._places: dict[str, int] = {}  # {text: its tag * _MOST_TEXTS + its slot}, the oldest first
        self._calls = 0  # calls entered * _CALL
        self._met_at = 0  # number of calls up to the last meeting
        self._recent: deque[str] = deque(maxlen=_COMPARED)
        self._recall = self._recent.append
        liveness.add_word(self.last_alive_address(me))
        liveness.show_alive(time.monotonic_ns())
        gather(None)  # the other PEs may use the table only after this

    def enter(self, text: str) -> None:
        """Record that this PE enters a collective call.  It takes about 0.15 us.  text: description of the call"""
        try:
            place = self._places[text]
        except KeyError:
            place = self.write_down(text)
        self._calls = calls = self._calls + _CALL
        self._own.progress = calls + place
        self._recall(text)

    def write_down(self, text: str) -> int:
        """Store the text of a call for other PEs, in place of the oldest text.  Returns _MOST_TEXTS * tag + slot."""
        if text in self._places:
            return self._places[text]
        slot, tag = len(self._places), tag_of(text)
        if slot == _MOST_TEXTS:
            slot = self._places.pop(next(iter(self._places))) % _MOST_TEXTS
        self._places[text] = place = tag * _MOST_TEXTS + slot
        entry = self._own.texts[slot]
        entry.tag = 0  # ``_text`` does not return the text while it is being written
        entry.text = text.encode()[:_TEXT_BYTES]
        entry.tag = tag
        return place

    def set_state(self, state: int) -> None:
        """Record that this PE is LEAVING the program, or DONE."""
        self._own.state = state

    def claim(self) -> bool:
        """True for exactly one thread of all processes of the node: this thread may print why the job ends.

        The semaphore is never released, not even at the end of its process.
        """
        return bool(_libc.sem_trywait(self._semaphore) == 0)

    def end(self) -> None:
        """Record that the job ends, since a launcher ends only the processes that it started."""
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
        """The calls of this PE since the last call of ``met``; there is at least one."""
        calls = self._calls // _CALL
        since = "\n".join((str(calls - self._met_at), *self._recent))
        last = tuple(islice(reversed(self._recent), _NAMED))
        return Recent(zlib.crc32(since.encode()), calls, last[::-1])

    def met(self) -> None:
        """Start a new list of calls, after all PEs have compared their lists."""
        self._recent.clear()
        self._met_at = self._calls // _CALL

    def last_alive_address(self, pe: int) -> int:
        """Address in this process of the word that ``last_alive_ns`` reads."""
        if pe in self._entries:
            return ctypes.addressof(self._entries[pe]) + Entry.alive_ns.offset
        return ctypes.addressof(self._remote_alive_ns) + 8 * pe

    def last_alive_ns(self, pe: int) -> int:
        """Time of the last sign of life of ``pe``, in ns of this node's CLOCK_MONOTONIC; 0 before the first sign."""
        return self._entries[pe].alive_ns if pe in self._entries else self._remote_alive_ns[pe]

    def note_alive(self, pe: int, time_ns: int) -> None:
        """Record the time of a sign of life of ``pe``, a PE of another node (beats.py)."""
        self._remote_alive_ns[pe] = time_ns

    def state(self, pe: int) -> int:
        """LEAVING, DONE or 0, for a PE of this node."""
        return self._entries[pe].state

    def call(self, pe: int) -> str:
        """The last call that ``pe``, a PE of this node, entered, such as "allreduce of 8 float32, sum (call 7)"."""
        number, place = divmod(self._entries[pe].progress, _CALL)
        return f"{self._text(pe, *divmod(place, _MOST_TEXTS)) or 'a call'} (call {number})" if number else "no call yet"

    def find(self, pe: int, tag: int) -> str | None:
        """The text of ``pe`` with this ``tag_of``; None if this node has no such text."""
        slots = range(_MOST_TEXTS if pe in self._entries else 0)
        return next((text for slot in slots if (text := self._text(pe, tag, slot))), None)

    def _text(self, pe: int, tag: int, slot: int) -> str | None:
        """The text in a slot; None if the slot holds no text with this tag."""
        entry = self._entries[pe].texts[slot]
        if entry.tag != tag:
            return None
        text: str = entry.text.decode(errors="replace")
        return text if entry.tag == tag else None

    def show_waiting(self, pe: int) -> None:
        """Record that this PE waits for ``pe``.  Waits in kernels of the host write these words themselves."""
        self._own.waits_for = pe
        self._own.looked_ns = time.monotonic_ns()

    def waits_for(self, pe: int) -> int:
        """The PE that ``pe``, a PE of this node, waits for; ANY_PE, or NO_PE."""
        entry = self._entries[pe]
        waits = time.monotonic_ns() - entry.looked_ns < BELIEVED_NS
        return entry.waits_for if waits else NO_PE

    def waiting_in_vain(self) -> list[int]:
        """The PEs of this node that would wait for ever once this PE has left: they wait for it, or all PEs wait."""
        if self.waits_for(self.me) != NO_PE:
            return []  # this PE may still do what they wait for
        waits = {pe: self.waits_for(pe) for pe in self.pes if pe != self.me and self.state(pe) < LEAVING}
        all_wait = len(self.pes) == len(self.processes) and NO_PE not in waits.values()
        return [pe for pe, awaited in waits.items() if awaited == self.me or (awaited == ANY_PE and all_wait)]

    def describe(self, pe: int) -> str:
        """A text about what ``pe`` is doing, as far as this node knows."""
        if pe not in self._entries:
            return f"PE {pe} is on another node" + self.on_host(pe).replace(" on", ",")
        if text := halted(self.processes, self.me, pe):
            return f"{text} after {self.call(pe)}"
        awaited, doing = self.waits_for(pe), "last entered"
        if self.state(pe) >= LEAVING:
            doing = "left the program after"
        elif awaited != NO_PE:
            doing = f"waits for {f'PE {awaited}' if awaited >= 0 else 'a signal'}; it last entered"
        return f"{named(self.processes, pe)} {doing} {self.call(pe)}"

    def on_host(self, pe: int) -> str:
        """A text such as " on host1"; "" if the team is on one node."""
        return on_host(self.processes, pe)

    def close(self) -> None:
        """Release this PE's mapping of the table."""
        liveness.remove_word(self.last_alive_address(self.me))
        del self._entries, self._own, self._first, self._remote_alive_ns
        self._memory.close()
