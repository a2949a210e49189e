"""The rows of words that tell a kernel what its messages are; pennympi/grid/messages.py writes them."""

from typing import NamedTuple

from ..block import read_route
from ..records import Halo, Lines
from ..steps import WORD_BYTES

DIRECT, INBOX, PACKED = 0, 1, 2  # ways of a message
END_WORDS = (
    12  # of one end of a message: pe, way, room, address, there, lines, then the six fields of Lines before its first
)
ROW_WORDS = 2 * END_WORDS  # of a message: the end that this PE sends, and that of the same number that it receives
PART_WORDS = 2  # signals of a part of a message: ready, arrived


class End(NamedTuple):
    """What one PE does for a message.

    pe:      at the other end, -1: there is no message;  way: DIRECT, INBOX or PACKED
    room:    bytes from the start of an inbox, or of the outbox, to the packed message
    address: of the first line in this PE's field;  there: in the receiver's, where it is DIRECT
    """

    pe: int
    way: int
    room: int
    address: int
    there: int
    lines: Lines


def outbound(halo: Halo, part: int):
    """The message that this PE sends, with the lines of one part."""
    return end_at(halo, part, 0)


def inbound(halo: Halo, part: int):
    """The message that this PE receives, with the lines of one part."""
    return end_at(halo, part, END_WORDS)


def end_at(halo: Halo, part: int, word: int):
    """One end of a message.  A part is an equal share of its lines."""
    at, piece = part // halo.pieces * ROW_WORDS + word, part % halo.pieces
    n_lines = read_route(halo.messages, at + 5)
    lines = Lines(
        read_route(halo.messages, at + 6),
        read_route(halo.messages, at + 7),
        read_route(halo.messages, at + 8),
        read_route(halo.messages, at + 9),
        read_route(halo.messages, at + 10),
        read_route(halo.messages, at + 11),
        n_lines * piece // halo.pieces,
        n_lines * (piece + 1) // halo.pieces,
    )
    return End(
        read_route(halo.messages, at),
        read_route(halo.messages, at + 1),
        read_route(halo.messages, at + 2),
        read_route(halo.messages, at + 3),
        read_route(halo.messages, at + 4),
        lines,
    )


def offset_bytes(lines: Lines) -> int:
    """Where the lines of a part begin in the packed message."""
    return lines.first * lines.nbytes


def part_bytes(lines: Lines) -> int:
    """Bytes of the lines of a part."""
    return (lines.stop - lines.first) * lines.nbytes


def slot(halo: Halo, epoch: int) -> int:
    """Address of the half of the inbox for an epoch."""
    return halo.inbox + (epoch & 1) * halo.inbox_bytes


def ready_word(halo: Halo, part: int) -> int:
    """Address, at the sender, of the word by which the receiver allows a part of a message."""
    return halo.signals + part * PART_WORDS * WORD_BYTES


def arrived_word(halo: Halo, part: int) -> int:
    """Address, at the receiver, of the word that says that a part has come."""
    return halo.signals + (part * PART_WORDS + 1) * WORD_BYTES
