"""What travels by MPI in place of a message between GPUs: where on the sender's GPU it lies."""

from __future__ import annotations

import struct
from typing import NamedTuple

import numpy as np
from mpi4py import MPI

from .gpu_memory import Location
from .mailbox import N_SLOTS, RECEIVER, SENT, SIZE, STATE, TAG, Page, own_page

# An envelope has LEAST_BYTES and one more for each number of its slot, so that the size of one that is still under way
# says where the size of the message stands.  No smaller message, and no smaller receive, is one.
LEAST_BYTES = 256
MOST_BYTES = LEAST_BYTES + N_SLOTS - 1
_FORM = struct.Struct("<16s5q64s")  # magic, bytes of the message, start, offset, number, PE, handle


class Envelope(NamedTuple):
    """slot: its number in the sender's page"""

    n_bytes: int
    location: Location
    slot: int

    def packed(self) -> bytes:
        """The bytes that travel."""
        packed = _FORM.pack(own_page().card.magic, self.n_bytes, *self.location)
        return packed.ljust(LEAST_BYTES + self.slot, b"\0")


def opened(landed: np.ndarray, page: Page | None) -> Envelope | None:
    """The envelope in what a process has sent; None: it is the message itself."""
    if page is None or not LEAST_BYTES <= landed.size <= MOST_BYTES:
        return None
    magic, n_bytes, *location = _FORM.unpack_from(landed.data)
    return Envelope(n_bytes, Location(*location), landed.size - LEAST_BYTES) if magic == page.card.magic else None


def put_true_size(status: MPI.Status, page: Page | None) -> None:
    """Where a probe has found an envelope, the status says the size of the message.  page: of the status's source"""
    slot_number = status.Get_count(MPI.BYTE) - LEAST_BYTES
    if page is None or not 0 <= slot_number < N_SLOTS:
        return
    slot = page.slot(slot_number)
    if (slot[STATE], slot[TAG], slot[RECEIVER]) == (SENT, status.tag, own_page().card.process.pid):
        status.Set_elements(MPI.BYTE, int(slot[SIZE]))
