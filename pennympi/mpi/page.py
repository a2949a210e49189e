"""The page of a process: words about its messages between GPUs, which the other processes of its node map.

MPI carries a message, or an envelope in its place.  An envelope names a slot of the sender's page: the slot says where
the message lies, and the receiver writes its answer there.  The page also says whether the process receives into memory
of GPUs: before that no process sends it an envelope (messages.py).
"""

from __future__ import annotations

import atexit
import mmap
import os
import struct
import time
from collections import deque
from collections.abc import Iterable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from mpi4py import MPI

from ..job.process import Process, halted, this_process

N_SLOTS, N_GPUS, N_ALLOCATIONS = 64, 64, 256
SLOT_WORDS = HANDLE_WORDS = 8
# Indices of the words.  RECEIVES: 1 if the process takes envelopes;  SINCE: time of the last sign of life that its wait
# has seen, in ns, 0 if it does not wait;  GPUS: numbers of the GPUs whose memory it reaches;  ALLOCATIONS: numbers of its
# allocations that other processes may open;  HANDLES: CUDA's handles of these allocations.
RECEIVES, SINCE, GPUS, ALLOCATIONS = 0, 1, 8, 8 + N_GPUS
HANDLES = ALLOCATIONS + N_ALLOCATIONS
SLOTS = HANDLES + HANDLE_WORDS * N_ALLOCATIONS
PAGE_BYTES = 8 * (SLOTS + SLOT_WORDS * N_SLOTS)
# Words of a slot: its state, the size and the tag of the message, the number of the receiver's process, and the Location.
STATE, SIZE, TAG, RECEIVER, LOCATION = range(5)
_SLOT = struct.Struct(f"{SLOT_WORDS}q")
FREE, SENT, TAKEN, FAILED = range(4)  # states of a slot
# The size of an envelope tells its slot.  A probe sees only this size, and reads the size of the message from the slot.
# All sizes of envelopes are odd, so that no probe takes a message of numbers of 2, 4 or 8 bytes for an envelope.  No
# smaller message is an envelope, and no smaller receive takes one.
ENVELOPES_BYTES = range(257, 257 + 4 * N_SLOTS, 4)
LEAST_BYTES, MOST_BYTES = ENVELOPES_BYTES[0], ENVELOPES_BYTES[-1]
MAGIC_BYTES = 16


class Card(NamedTuple):
    """The path of a process's page, and the first bytes of its envelopes, which no other message begins with."""

    process: Process
    path: str
    magic: bytes


class Page:
    """The words of a process of this node.

    slots:  the words of each slot
    opened: {number of an allocation: its address in this process}, of the allocations that this process has opened
    """

    def __init__(self, card: Card, fd: int):
        self.card, self.words = card, memoryview(mmap.mmap(fd, PAGE_BYTES)).cast("q")
        starts = range(SLOTS, SLOTS + SLOT_WORDS * N_SLOTS, SLOT_WORDS)
        self.slots = [self.words[start : start + SLOT_WORDS] for start in starts]
        self.opened: dict[int, int] = {}

    def handle(self, place: int) -> memoryview:
        """The words of the handle of an allocation.  place: its number in the page"""
        start = HANDLES + HANDLE_WORDS * place
        return self.words[start : start + HANDLE_WORDS]

    def takes_from(self, gpu: int) -> bool:
        """Whether the process takes envelopes for memory of a GPU."""
        return bool(self.words[RECEIVES]) and gpu in self.words[GPUS : GPUS + N_GPUS]

    def end(self) -> None:
        """Show that this process ends: for others it is as one that waits, since it begins no more calls."""
        self.words[SINCE] = time.monotonic_ns()

    def silent_since_ns(self, since_ns: int) -> int:
        """The time of the process's last sign of life.

        A process that is stopped or has ended: ``since_ns``;  that waits: the time in its page;  that runs: the present
        """
        if halted((own_page().card.process, self.card.process), 0, 1):
            return since_ns
        return self.words[SINCE] or time.monotonic_ns()


@cache
def own_page() -> Page:
    """The page of this process, which ends with it."""
    fd = os.memfd_create("pennympi", os.MFD_CLOEXEC)
    os.ftruncate(fd, PAGE_BYTES)
    page = Page(Card(this_process(), f"/proc/{os.getpid()}/fd/{fd}", os.urandom(MAGIC_BYTES)), fd)
    atexit.register(page.end)
    return page


@cache
def page_of(card: Card | None) -> Page | None:
    """The page of a process; None where it has none, is on another node, or can't be opened."""
    if card is None or card == own_page().card:
        return card and own_page()
    if card.process.node != own_page().card.process.node:
        return None
    try:
        fd = os.open(card.path, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return None
    page = Page(card, fd)
    os.close(fd)
    return page


def lacks_page(cards: Iterable[Card | None]) -> bool:
    """Whether this process can't open the page of a process of its node."""
    node = own_page().card.process.node
    return any(card is not None and card.process.node == node and page_of(card) is None for card in cards)


class Location(NamedTuple):
    """The location of bytes on a GPU, by which another process of the node finds them.

    offset: offset of the bytes in their allocation, or in the symmetric heap
    number: number of the allocation, which CUDA gives to no later allocation of the process
    place:  number of its handle in the page
    pe:     PE of the symmetric heap; -1 for memory elsewhere
    """

    offset: int
    number: int
    place: int
    pe: int


_free_slots = deque(range(N_SLOTS))


def take_slot(n_bytes: int, tag: int, receiver: int, location: Location) -> int | None:
    """The number of a slot for a message; None if all are taken."""
    try:
        number = _free_slots.popleft()
    except IndexError:
        return None
    _SLOT.pack_into(own_page().slots[number], 0, SENT, n_bytes, tag, receiver, *location)
    return number


def release_slot(number: int) -> None:
    """Give a slot back."""
    own_page().slots[number][STATE] = FREE
    _free_slots.append(number)


@cache
def envelope(number: int) -> list[Any]:
    """What MPI carries in place of the message of a slot."""
    return [own_page().card.magic.ljust(ENVELOPES_BYTES[number], b"\0"), MPI.BYTE]


def slot_of(landing: np.ndarray, n_bytes: int, page: Page | None) -> memoryview | None:
    """The slot of the envelope that a process has sent; None if it has sent the message itself."""
    if page is None or n_bytes not in ENVELOPES_BYTES or landing[:MAGIC_BYTES].tobytes() != page.card.magic:
        return None
    return page.slots[ENVELOPES_BYTES.index(n_bytes)]


def put_true_size(status: MPI.Status, page: Page | None) -> None:
    """Write the size of the message into the status of a probe that has found an envelope.  page: page of the source"""
    n_bytes = status.Get_count(MPI.BYTE)
    if page is None or n_bytes not in ENVELOPES_BYTES:
        return
    slot = page.slots[ENVELOPES_BYTES.index(n_bytes)]
    if (slot[STATE], slot[TAG], slot[RECEIVER]) == (SENT, status.tag, own_page().card.process.pid):
        status.Set_elements(MPI.BYTE, slot[SIZE])
