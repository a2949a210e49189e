"""The rows of words that describe the messages of a PE to a kernel.  ``pennympi/stencil/grid/messages.py`` writes them.

A row describes both messages, sent and received, between this PE and its neighbour at one side of one field.
"""

from typing import NamedTuple

from ..block import read_peer
from ..records import Halo, Lines
from ..slots import WORD_BYTES

DIRECT, INBOX, PACKED = 0, 1, 2  # ways of a message
FIRST_WORDS = 3  # of a row: pe, number, other; then its two ends
END_WORDS = 11  # way, offset, address, there, number of lines, then the six fields of Lines before ``first``
ROW_WORDS = FIRST_WORDS + 2 * END_WORDS
PART_WORDS = 2  # signals of a part of a row: ready, arrived


class End(NamedTuple):
    """One end of a message: how its sender or its receiver handles it.

    way:     DIRECT, INBOX or PACKED
    offset:  bytes from the start of an inbox buffer, or of the outbox, to the packed message
    address: of the first line in this PE's field;  there: in the receiver's field, for DIRECT
    """

    way: int
    offset: int
    address: int
    there: int
    lines: Lines


class Row(NamedTuple):
    """One part of the messages between this PE and a neighbour.

    pe:   the neighbour;  here, there: number of the part among this PE's parts, and among the neighbour's parts
    sent, received: the lines of the part
    """

    pe: int
    here: int
    there: int
    sent: End
    received: End


def row_at(halo: Halo, part: int):
    """A part of a row: an equal share of the lines of both messages."""
    at, piece = part // halo.pieces * ROW_WORDS, part % halo.pieces
    return Row(
        read_peer(halo.messages, at),
        read_peer(halo.messages, at + 1) * halo.pieces + piece,
        read_peer(halo.messages, at + 2) * halo.pieces + piece,
        end_at(halo, at + FIRST_WORDS, piece),
        end_at(halo, at + FIRST_WORDS + END_WORDS, piece),
    )


def end_at(halo: Halo, at: int, piece: int):
    """One end of a message, from word number ``at`` on."""
    n_lines = read_peer(halo.messages, at + 4)
    lines = Lines(
        read_peer(halo.messages, at + 5),
        read_peer(halo.messages, at + 6),
        read_peer(halo.messages, at + 7),
        read_peer(halo.messages, at + 8),
        read_peer(halo.messages, at + 9),
        read_peer(halo.messages, at + 10),
        n_lines * piece // halo.pieces,
        n_lines * (piece + 1) // halo.pieces,
    )
    return End(
        read_peer(halo.messages, at),
        read_peer(halo.messages, at + 1),
        read_peer(halo.messages, at + 2),
        read_peer(halo.messages, at + 3),
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
