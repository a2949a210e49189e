"""The messages of a halo exchange as the words that its kernel reads (kernels/halo/message.py)."""

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ..kernels.halo.message import DIRECT, INBOX, PACKED
from ..memory.freelist import aligned
from .decomposition import Decomposition, Sizes


class Field(NamedTuple):
    """A field: its address, the same on every PE but for the heap's, and the bytes of an element."""

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
    """Part of an array of up to three dimensions, as lines of bytes.

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


def box_of(shape: Sizes, part: tuple[slice, ...], item_bytes: int) -> Box:
    """``part`` of an array of this shape in C order."""
    lacking = 3 - len(shape)
    full = (1,) * lacking + shape
    starts = (0,) * lacking + tuple(one.start for one in part)
    planes, rows, columns = (1,) * lacking + tuple(one.stop - one.start for one in part)
    row_bytes = full[2] * item_bytes
    offset = ((starts[0] * full[1] + starts[1]) * full[2] + starts[2]) * item_bytes
    return Box(offset, planes, rows, columns * item_bytes, full[1] * row_bytes, row_bytes)


class Messages(NamedTuple):
    """words: rows of words, one for each message;  room_bytes: of all packed messages;  largest_bytes: of a message"""

    words: list[int]
    n_messages: int
    room_bytes: int
    largest_bytes: int


def messages_of(grid: Decomposition, me: int, fields: Sequence[Field], corners: bool, ways: Ways) -> Messages:
    """The messages of PE ``me``.  Their numbers, rooms and sizes at most are the same on every PE."""
    words: list[int] = []
    n = room = largest = 0
    for field in fields:
        for step in steps_of(grid, corners):
            most = [h if one else points for h, one, points in zip(grid.halo, step, grid.most, strict=True)]
            most_bytes = math.prod(most) * field.item_bytes
            words += _outbound(grid, me, field, step, ways, room)
            words += _inbound(grid, me, field, step, ways, room)
            n, room, largest = n + 1, room + aligned(most_bytes), max(largest, most_bytes)
    return Messages(words, n, room, largest)


def _outbound(grid: Decomposition, me: int, field: Field, step: Sizes, ways: Ways, room: int) -> list[int]:
    """What ``me`` sends to its neighbour at ``step``."""
    to = grid.neighbour(me, step)
    if to is None:
        return [-1] + [0] * 11
    box = box_of(grid.local(me), sent(grid.own(me), grid.halo, step), field.item_bytes)
    back = tuple(-one for one in step)
    there = box_of(grid.local(to), received(grid.own(to), grid.halo, back), field.item_bytes)
    way = ways.of(me, to, box)
    goal = (there.plane_bytes, there.row_bytes) if way == DIRECT else box.packed
    ends = [to, way, room, field.address + box.offset, field.address + there.offset, box.planes * box.rows]
    return [*ends, box.rows, box.nbytes, *goal, box.plane_bytes, box.row_bytes]


def _inbound(grid: Decomposition, me: int, field: Field, step: Sizes, ways: Ways, room: int) -> list[int]:
    """What comes to ``me`` from the neighbour whose neighbour at ``step`` it is."""
    back = tuple(-one for one in step)
    source = grid.neighbour(me, back)
    if source is None:
        return [-1] + [0] * 11
    box = box_of(grid.local(me), received(grid.own(me), grid.halo, back), field.item_bytes)
    way = ways.of(source, me, box)
    ends = [source, way, room, field.address + box.offset, 0, box.planes * box.rows]
    return [*ends, box.rows, box.nbytes, box.plane_bytes, box.row_bytes, *box.packed]
