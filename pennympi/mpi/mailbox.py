"""What a process shows the others of its node about its messages between GPUs: a page of words that they map.

A sender leaves the size of a message in a slot of its own page, and the receiver its answer there.  The page also says
whether the process receives into memory of GPUs: until then no envelope is sent to it (point_to_point.py).
"""

from __future__ import annotations

import mmap
import os
import time
from collections import deque
from functools import cache
from typing import NamedTuple

from mpi4py import MPI

from ..job.process import Process, halted, this_process

PAGE_BYTES = 8192
N_SLOTS, N_GPUS, N_ALLOCATIONS = 64, 64, 256
# Where a word lies in the page: it receives on GPUs; since when its wait has had no sign of life, in ns, 0 where it
# does not wait; the GPUs whose memory it reaches; the allocations that it has shown; then the slots.
RECEIVES, SINCE, GPUS, ALLOCATIONS = 0, 1, 8, 8 + N_GPUS
SLOTS = ALLOCATIONS + N_ALLOCATIONS
STATE, SIZE, TAG, RECEIVER = range(4)  # the words of a slot; the receiver's process
FREE, SENT, TAKEN, FAILED = range(4)  # its states


class Card(NamedTuple):
    """How a process's page is found, and the first bytes of its envelopes, which no other message begins with."""

    process: Process
    path: str
    magic: bytes


class Page:
    """The words of a process, of this one or of another one of this node."""

    def __init__(self, card: Card, fd: int):
        self.card, self.words = card, memoryview(mmap.mmap(fd, PAGE_BYTES)).cast("q")

    def slot(self, number: int) -> memoryview:
        """The words of a slot."""
        return self.words[SLOTS + 4 * number : SLOTS + 4 * number + 4]

    def takes_from(self, gpu: int) -> bool:
        """Whether the process receives on GPUs, and takes envelopes for memory of this one."""
        return bool(self.words[RECEIVES]) and gpu in self.words[GPUS : GPUS + N_GPUS]

    def silent_since_ns(self, since_ns: int) -> int:
        """The last sign of life: now, while the process runs and does not wait itself; else since when it has waited."""
        own = own_page().card.process
        if halted((own, self.card.process), 0, 1):
            return since_ns
        return self.words[SINCE] or time.monotonic_ns()


@cache
def own_page() -> Page:
    """The page of this process, which ends with it."""
    fd = os.memfd_create("pennympi", os.MFD_CLOEXEC)
    os.ftruncate(fd, PAGE_BYTES)
    return Page(Card(this_process(), f"/proc/{os.getpid()}/fd/{fd}", os.urandom(16)), fd)


@cache
def page_of(card: Card | None) -> Page | None:
    """The page of a process; None where it has none, is on another node, or can't be opened."""
    own = own_page()
    if card is None:
        return None
    if card == own.card or card.process.node != own.card.process.node:
        return own if card == own.card else None
    try:
        fd = os.open(card.path, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return None
    page = Page(card, fd)
    os.close(fd)
    return page


_free_slots = deque(range(N_SLOTS))


def take_slot(n_bytes: int, tag: int, receiver: int) -> int | None:
    """The number of a slot for a message; None if all are taken."""
    try:
        number = _free_slots.popleft()
    except IndexError:
        return None
    slot = own_page().slot(number)
    slot[SIZE], slot[TAG], slot[RECEIVER], slot[STATE] = n_bytes, tag, receiver, SENT
    return number


def release_slot(number: int) -> None:
    """Give a slot back."""
    own_page().slot(number)[STATE] = FREE
    _free_slots.append(number)


def cards_of_part(cards: list[Card | None], whole: MPI.Intracomm, part: MPI.Intracomm) -> list[Card | None]:
    """The cards of the ranks of a communicator that was made from another one."""
    wholes, parts = whole.Get_group(), part.Get_group()
    ranks = parts.Translate_ranks(list(range(parts.size)), wholes)
    wholes.Free()
    parts.Free()
    return [cards[rank] if rank >= 0 else None for rank in ranks]
