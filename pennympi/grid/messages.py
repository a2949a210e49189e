"""The messages of a halo exchange as the words that its kernel reads (kernels/halo/message.py)."""

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ..kernels.halo.message import DIRECT, INBOX, PACKED, ROW_WORDS
from ..memory.freelist import aligned
from .decomposition import Decomposition, Sizes
from .layout import Layout, layout_of


class Field(NamedTuple):
    """A field: the address of its first element, the same on every PE but for the heap's, and the bytes of an element."""

    address: int
    item_bytes: int


class Ways(NamedTuple):
    """How messages go.

    by_pointer: whether PE p stores into the memory of PE q, [p][q]
    direct_min_bytes, direct_min_line_bytes: from which size on, of a message and of its lines, it goes straight into the
                field
    """

    by_pointer: Sequence[Sequence[bool]]
    direct_min_bytes: int
    direct_min_line_bytes: int

    def of(self, sender: int, receiver: int, box: "Box") -> int:
        """The way of a message.  box: its lines, at either end"""
        if not self.by_pointer[sender][receiver]:
            return PACKED
        large = box.planes * box.rows * box.nbytes >= self.direct_min_bytes and box.nbytes >= self.direct_min_line_bytes
        return DIRECT if sender == receiver or large else INBOX


def steps_of(grid: Decomposition, corners: bool) -> Iterator[Sizes]:
    """Where the neighbours lie that points are sent to: at the faces; with ``corners`` also at edges and corners."""
    for step in itertools.product((-1, 0, 1), repeat=len(grid.shape)):
        beside = sum(map(abs, step))
        if beside and (corners or beside == 1) and all(h or not one for h, one in zip(grid.halo, step, strict=True)):
            yield step


class MessagePart(NamedTuple):
    """The points of PE ``pe`` that go to its neighbour at ``step``, or that come from there.  corners: see ``at_ends``"""

    grid: Decomposition
    pe: int
    step: Sizes
    corners: bool

    @property
    def goes(self) -> tuple[slice, ...]:
        """Own points."""
        part = sent(self.grid.own(self.pe), self.grid.halo, self.step)
        return at_ends(self.grid, self.pe, self.step, part) if self.corners else part

    @property
    def comes(self) -> tuple[slice, ...]:
        """Points of the halo."""
        part = received(self.grid.own(self.pe), self.grid.halo, self.step)
        return at_ends(self.grid, self.pe, self.step, part) if self.corners else part


def at_ends(grid: Decomposition, pe: int, step: Sizes, part: tuple[slice, ...]) -> tuple[slice, ...]:
    """A part, and the halo beside it where the grid ends.

    Both PEs lie at the same ends of the grid, in each dimension in which the step does not go.
    """
    wider = []
    for d, one in enumerate(part):
        low, high = (grid.neighbour(pe, tuple(sign * (d == at) for at in range(len(step)))) is None for sign in (-1, 1))
        h = grid.halo[d] * (step[d] == 0)
        wider.append(slice(one.start - h * low, one.stop + h * high))
    return tuple(wider)


def sent(own: Sizes, halo: Sizes, step: Sizes) -> tuple[slice, ...]:
    """The own points that go to the neighbour at ``step``, in an array with halo."""
    return tuple(
        slice(h, h + n) if one == 0 else slice(n, n + h) if one > 0 else slice(h, 2 * h)
        for n, h, one in zip(own, halo, step, strict=True)
    )


def received(own: Sizes, halo: Sizes, step: Sizes) -> tuple[slice, ...]:
    """The halo points that come from the neighbour at ``step``."""
    return tuple(
        slice(h, h + n) if one == 0 else slice(h + n, h + n + h) if one > 0 else slice(0, h)
        for n, h, one in zip(own, halo, step, strict=True)
    )


class Box(NamedTuple):
    """MessagePart of an array of up to three dimensions, as lines of bytes.

    offset: bytes from the start of the array to the first line;  planes, rows: of lines;  nbytes: of a line
    """

    offset: int
    planes: int
    rows: int
    nbytes: int
    plane_bytes: int
    row_bytes: int

    @property
    def packed(self) -> tuple[int, int]:
        """Bytes from plane to plane, and from line to line, where the lines follow one another."""
        return self.rows * self.nbytes, self.nbytes


def box_of(layout: Layout, part: tuple[slice, ...]) -> Box:
    """A part of an array."""
    lacking, item_bytes = 3 - len(layout.shape), layout.item_bytes
    full = (1,) * lacking + layout.stored
    starts = (0,) * lacking + tuple(one.start for one in part)
    planes, rows, columns = (1,) * lacking + tuple(one.stop - one.start for one in part)
    row_bytes = full[2] * item_bytes
    offset = ((starts[0] * full[1] + starts[1]) * full[2] + starts[2]) * item_bytes
    return Box(offset, planes, rows, columns * item_bytes, full[1] * row_bytes, row_bytes)


class Messages(NamedTuple):
    """The messages of a PE.

    words: rows of words, one for each neighbour at a side, as many words on each PE;  n_messages: rows
    n_numbers: sides of all fields on any PE;  most_messages: rows of the PE that has most
    room_bytes: of all packed messages;  largest_bytes: of a message
    """

    words: list[int]
    n_messages: int
    n_numbers: int
    most_messages: int
    room_bytes: int
    largest_bytes: int


def messages_of(grid: Decomposition, me: int, fields: Sequence[Field], corners: bool, ways: Ways) -> Messages:
    """The messages of PE ``me``.  The numbers, offsets and largest sizes of messages are the same on every PE."""
    steps, words, offsets = list(steps_of(grid, corners)), [], [0]
    largest = 0
    for field in fields:
        for step in steps:
            every = zip(grid.halo, step, grid.most, strict=True)
            most = [h if one else points + 2 * h * corners for h, one, points in every]
            most_bytes = math.prod(most) * field.item_bytes
            offsets.append(offsets[-1] + aligned(most_bytes))
            largest = max(largest, most_bytes)
    for which, field in enumerate(fields):
        for k, step in enumerate(steps):
            pe = grid.neighbour(me, step)
            if pe is not None:
                number, other = which * len(steps) + k, which * len(steps) + len(steps) - 1 - k  # which goes to -step
                words += [pe, number, other]
                back = tuple(-one for one in step)
                ends = MessagePart(grid, me, step, corners), MessagePart(grid, pe, back, corners)
                words += _sent(*ends, field, ways, offsets[number])
                words += _received(*ends, field, ways, offsets[other])
    pes = range(math.prod(grid.dims))
    rows = [sum(grid.neighbour(pe, step) is not None for step in steps) * len(fields) for pe in pes]
    words += [0] * (max(rows) * ROW_WORDS - len(words))
    return Messages(words, rows[me], len(fields) * len(steps), max(rows), offsets[-1], largest)


def _sent(mine: MessagePart, theirs: MessagePart, field: Field, ways: Ways, offset: int) -> list[int]:
    """What a PE sends to a neighbour."""
    box = box_of(layout_of(mine.grid, mine.pe, field.item_bytes), mine.goes)
    there = box_of(layout_of(mine.grid, theirs.pe, field.item_bytes), theirs.comes)
    way = ways.of(mine.pe, theirs.pe, box)
    goal = (there.plane_bytes, there.row_bytes) if way == DIRECT else box.packed
    words = [way, offset, field.address + box.offset, field.address + there.offset, box.planes * box.rows]
    return [*words, box.rows, box.nbytes, *goal, box.plane_bytes, box.row_bytes]


def _received(mine: MessagePart, theirs: MessagePart, field: Field, ways: Ways, offset: int) -> list[int]:
    """What comes to a PE from a neighbour."""
    box = box_of(layout_of(mine.grid, mine.pe, field.item_bytes), mine.comes)
    words = [ways.of(theirs.pe, mine.pe, box), offset, field.address + box.offset, 0, box.planes * box.rows]
    return [*words, box.rows, box.nbytes, box.plane_bytes, box.row_bytes, *box.packed]
