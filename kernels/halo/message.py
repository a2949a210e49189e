"""The rows of words that describe a PE's messages to a kernel, as ``pennympi/stencil/grid/messages.py`` writes them.

A row describes a part of a message that this PE receives from a neighbour, or sends to it, at one side of a field.
"""

from typing import NamedTuple

from ..block import read_peer
from ..records import Halo, Lines
from ..slots import WORD_BYTES

LOCAL, PACKETS, DIRECT, PACKED = 0, 1, 2, 3  # ways of a message
FIRST_WORDS = 3  # words of a row before its end: pe, own_number, peer_number of ``HaloPart``
ROW_WORDS = FIRST_WORDS + 13  # and the fields of ``End``, and of its Lines
SIGNAL_WORDS = 2  # signal words of a part: ready, arrived


class End(NamedTuple):
    """The work of the sender, or of the receiver, of a part of a message.

    way:     LOCAL, PACKETS, DIRECT or PACKED
    offset:  bytes from the start of an inbox buffer, or of the outbox, to the message
    address: address of the message's first line in this PE's field
    remote_address: address of the message's first line in the receiver's field
    nbytes:  bytes of the whole message
    lines:   lines of the part; for PACKETS its groups of packets
    """

    way: int
    offset: int
    address: int
    remote_address: int
    nbytes: int
    lines: Lines


class HaloPart(NamedTuple):
    """A part of a message between this PE and a neighbour.

    pe: number of the neighbour
    own_number, peer_number: numbers of its signal words on this PE, and on the neighbour, unless it goes as packets
    """

    pe: int
    own_number: int
    peer_number: int
    end: End


def part_at(halo: Halo, row: int):
    """The part of a row."""
    first_word = row * ROW_WORDS
    return HaloPart(
        read_peer(halo.rows, first_word),
        read_peer(halo.rows, first_word + 1),
        read_peer(halo.rows, first_word + 2),
        end_at(halo, first_word + FIRST_WORDS),
    )


def end_at(halo: Halo, first_word: int):
    """The end whose words begin at index ``first_word``."""
    lines = Lines(
        read_peer(halo.rows, first_word + 5),
        read_peer(halo.rows, first_word + 6),
        read_peer(halo.rows, first_word + 7),
        read_peer(halo.rows, first_word + 8),
        read_peer(halo.rows, first_word + 9),
        read_peer(halo.rows, first_word + 10),
        read_peer(halo.rows, first_word + 11),
        read_peer(halo.rows, first_word + 12),
    )
    return End(
        read_peer(halo.rows, first_word),
        read_peer(halo.rows, first_word + 1),
        read_peer(halo.rows, first_word + 2),
        read_peer(halo.rows, first_word + 3),
        read_peer(halo.rows, first_word + 4),
        lines,
    )


def offset_bytes(lines: Lines) -> int:
    """Bytes from the start of the packed message to the lines of a part."""
    return lines.first * lines.nbytes


def part_bytes(lines: Lines) -> int:
    """Bytes of the lines of a part."""
    return (lines.stop - lines.first) * lines.nbytes


def slot(halo: Halo, epoch: int) -> int:
    """Address of the inbox buffer of an epoch."""
    return halo.inbox + (epoch & 1) * halo.inbox_bytes


def ready_word(halo: Halo, part: int) -> int:
    """Address of the word by which a receiver allows its sender to write a part."""
    return halo.signals + part * SIGNAL_WORDS * WORD_BYTES


def arrived_word(halo: Halo, part: int) -> int:
    """Address of the word that signals the arrival of a part to its receiver."""
    return halo.signals + (part * SIGNAL_WORDS + 1) * WORD_BYTES
