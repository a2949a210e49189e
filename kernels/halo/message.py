"""The rows of words that describe a PE's messages to a kernel, as ``pennympi/stencil/grid/messages.py`` writes them.

A row describes both messages, sent and received, between this PE and its neighbour at one side of one field.
"""

from typing import NamedTuple

from ..block import read_peer
from ..records import Halo, Lines
from ..slots import WORD_BYTES

DIRECT, INBOX, PACKED = 0, 1, 2  # ways of a message
FIRST_WORDS = 3  # first words of a row: neighbour, index of the row, index of the neighbour's row; then its two ends
END_WORDS = 11  # way, offset, address, remote address, number of lines, then the six fields of Lines before ``first``
ROW_WORDS = FIRST_WORDS + 2 * END_WORDS
PART_WORDS = 2  # signal words of a part of a row: ready, arrived


class End(NamedTuple):
    """One end of a message: the work of its sender, or of its receiver.

    way:     DIRECT, INBOX or PACKED
    offset:  bytes from the start of an inbox buffer, or of the outbox, to the packed message
    address: address of the first line in this PE's field;  remote_address: in the receiver's field, for DIRECT
    """

    way: int
    offset: int
    address: int
    remote_address: int
    lines: Lines


class HaloPart(NamedTuple):
    """One part of the messages between this PE and a neighbour.

    pe: number of the neighbour;  own_index, peer_index: index of the part on this PE, and on the neighbour
    sent, received: the lines of the part in the two messages
    """

    pe: int
    own_index: int
    peer_index: int
    sent: End
    received: End


def part_at(halo: Halo, k: int):
    """Part k of the rows: an equal share of the lines of both messages of a row."""
    first_word, piece = k // halo.pieces * ROW_WORDS, k % halo.pieces
    return HaloPart(
        read_peer(halo.messages, first_word),
        read_peer(halo.messages, first_word + 1) * halo.pieces + piece,
        read_peer(halo.messages, first_word + 2) * halo.pieces + piece,
        end_at(halo, first_word + FIRST_WORDS, piece),
        end_at(halo, first_word + FIRST_WORDS + END_WORDS, piece),
    )


def end_at(halo: Halo, first_word: int, piece: int):
    """The end of a message that words describe, the first of which has index ``first_word``."""
    n_lines = read_peer(halo.messages, first_word + 4)
    lines = Lines(
        read_peer(halo.messages, first_word + 5),
        read_peer(halo.messages, first_word + 6),
        read_peer(halo.messages, first_word + 7),
        read_peer(halo.messages, first_word + 8),
        read_peer(halo.messages, first_word + 9),
        read_peer(halo.messages, first_word + 10),
        n_lines * piece // halo.pieces,
        n_lines * (piece + 1) // halo.pieces,
    )
    return End(
        read_peer(halo.messages, first_word),
        read_peer(halo.messages, first_word + 1),
        read_peer(halo.messages, first_word + 2),
        read_peer(halo.messages, first_word + 3),
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
    return halo.signals + part * PART_WORDS * WORD_BYTES


def arrived_word(halo: Halo, part: int) -> int:
    """Address of the word that signals the arrival of a part to its receiver."""
    return halo.signals + (part * PART_WORDS + 1) * WORD_BYTES
