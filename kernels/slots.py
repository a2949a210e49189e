"""Addresses of a block's messages: its buffers in inbox and outbox, their slots, and its signal words.

An inbox and an outbox have two buffers for each block, which epochs use in turn.  Kernels that overlap rounds divide the
two buffers of the inbox into four half buffers.
"""

from .block import block
from .packets import PACKET_BYTES
from .records import Slots, Work

WORD_BYTES, VECTOR_BYTES = 8, 16


def buffer(work: Work, epoch: int) -> int:
    """Offset in bytes, in inbox and outbox, of this block's buffer of an epoch (the two are used in turn)."""
    return (block() * 2 + (epoch & 1)) * work.buffer_bytes


def inbox_of(work: Work, epoch: int) -> int:
    """Address of this block's buffer of an epoch in the inbox."""
    return work.inbox + buffer(work, epoch)


def outbox_of(work: Work, epoch: int) -> int:
    """Address of this block's buffer of an epoch in the outbox."""
    return work.outbox + buffer(work, epoch)


def half_buffer(work: Work, epoch: int) -> int:
    """Offset in bytes, in the inbox, of this block's half buffer of an epoch (the four are used in turn)."""
    return block() * 2 * work.buffer_bytes + (epoch & 3) * half_buffer_bytes(work)


def half_buffer_bytes(work: Work) -> int:
    """Bytes of a half buffer."""
    return work.buffer_bytes // 2


def slots_in(address: int, nbytes: int, n_slots: int, unit_bytes: int = VECTOR_BYTES) -> Slots:
    """The slots into which ``nbytes`` bytes at an address are divided; a slot is a multiple of ``unit_bytes``."""
    return Slots(address, nbytes // n_slots // unit_bytes * unit_bytes)


def inbox_slots(work: Work, epoch: int, n_slots: int) -> Slots:
    """The slots of the inbox's buffer of an epoch."""
    return slots_in(inbox_of(work, epoch), work.buffer_bytes, n_slots)


def outbox_slots(work: Work, epoch: int, n_slots: int) -> Slots:
    """The slots of the outbox's buffer of an epoch."""
    return slots_in(outbox_of(work, epoch), work.buffer_bytes, n_slots)


def packet_slots(work: Work, epoch: int, n_slots: int) -> Slots:
    """The slots for packets of the inbox's buffer of an epoch."""
    return slots_in(inbox_of(work, epoch), work.buffer_bytes, n_slots, PACKET_BYTES)


def half_buffer_slots(work: Work, epoch: int, n_slots: int, unit_bytes: int = VECTOR_BYTES) -> Slots:
    """The slots of the inbox's half buffer of an epoch."""
    return slots_in(work.inbox + half_buffer(work, epoch), half_buffer_bytes(work), n_slots, unit_bytes)


def staging_slots(work: Work, n_slots: int) -> Slots:
    """Slots for ``stage_for_put`` in the second buffer of the outbox, of the same size as the slots of a half buffer."""
    return slots_in(outbox_of(work, 1), half_buffer_bytes(work), n_slots)


def slot_at(slots: Slots, k: int) -> int:
    """Address of slot k."""
    return slots.address + k * slots.nbytes


def word(words: int, k: int) -> int:
    """Address of word k."""
    return words + k * WORD_BYTES


def words(work: Work, epoch: int, n_words: int) -> int:
    """Address of this block's (n_words,) signal words of an epoch, in a kernel with two sets of words."""
    return work.signals + (block() * 2 + (epoch & 1)) * n_words * WORD_BYTES


def block_words(work: Work, n_words: int) -> int:
    """Address of this block's (n_words,) signal words, in a kernel with one set of words."""
    return work.signals + block() * n_words * WORD_BYTES
