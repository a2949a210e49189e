"""The messages of a halo exchange as the words that its kernel reads (kernels/halo/message.py)."""

import math
from collections.abc import Iterator, Sequence
from itertools import accumulate, product
from typing import NamedTuple

from ...arrays.array_view import ArrayView
from ...kernels.algorithm import Topology
from ...kernels.halo.message import DIRECT, LOCAL, PACKED, PACKETS, ROW_WORDS
from ...kernels.packets import GROUP_BYTES, GROUP_DATA_BYTES
from ...kernels.records import Lines
from ...memory.freelist import aligned
from .decomposition import Decomposition, Sizes
from .layout import Layout, layout_of


class Box(NamedTuple):
    """Some points of an array of up to three dimensions, as lines of bytes.

    offset: bytes from the start of the array to the first line;  planes, rows: of lines;  nbytes: of a line
    strides: bytes from plane to plane, and from line to line
    """

    offset: int
    planes: int
    rows: int
    nbytes: int
    strides: tuple[int, int]

    @property
    def packed(self) -> tuple[int, int]:
        """The strides where the lines follow one another."""
        return self.rows * self.nbytes, self.nbytes


class Ways(NamedTuple):
    """How messages go.

    by_pointer: whether PE p stores into the memory of PE q, [p][q];  topology: whether packets may go
    direct_min_bytes, direct_min_line_bytes: a message of this size, in lines of this size, goes straight into the field
    """

    by_pointer: Sequence[Sequence[bool]]
    topology: Topology
    direct_min_bytes: int
    direct_min_line_bytes: int

    def of(self, sender: int, receiver: int, box: Box) -> int:
        """The way of a message.  box: its lines, at either end"""
        if sender == receiver:
            return LOCAL
        if not self.by_pointer[sender][receiver]:
            return PACKED
        if box.planes * box.rows * box.nbytes >= self.direct_min_bytes and box.nbytes >= self.direct_min_line_bytes:
            return DIRECT
        both_ways = self.by_pointer[receiver][sender]  # since the reuse of an inbox relies on the answer
        return PACKETS if both_ways and self.topology.packets_between(sender, receiver) else PACKED


def steps_of(grid: Decomposition, corners: bool) -> Iterator[Sizes]:
    """Where the neighbours lie that points are sent to: at the faces; with ``corners`` also at edges and corners."""
    for step in product((-1, 0, 1), repeat=len(grid.shape)):
        beside = sum(map(abs, step))
        if beside and (corners or beside == 1) and all(h or not one for h, one in zip(grid.halo, step, strict=True)):
            yield step


def points_of(
    grid: Decomposition, pe: int, step: Sizes, in_halo: bool = False, to_ends: bool = False
) -> tuple[slice, ...]:
    """The own points of a PE that its neighbour at ``step`` keeps, or (``in_halo``) the halo beyond them.

    step:    where 0, all own points of this dimension
    to_ends: in these dimensions also the halo at the ends of the grid.  A neighbour at ``step`` lies at the same ends
    """
    found = []
    for d, (n, h, one) in enumerate(zip(grid.own(pe), grid.halo, step, strict=True)):
        first, stop = h, h + n
        if one:
            first = n + h * in_halo if one > 0 else h - h * in_halo
            stop = first + h
        elif to_ends:
            before, after = grid.neighbours_along(pe, d)
            first, stop = first - h * (before is None), stop + h * (after is None)
        found.append(slice(first, stop))
    return tuple(found)


def box_of(layout: Layout, points: tuple[slice, ...]) -> Box:
    """Points of an array."""
    more, item_bytes = (1,) * (3 - len(layout.shape)), layout.item_bytes
    _, height, width = more + layout.stored
    x, y, z = (0,) * len(more) + tuple(one.start for one in points)
    planes, rows, columns = more + tuple(one.stop - one.start for one in points)
    row_bytes = width * item_bytes
    offset = (x * height + y) * row_bytes + z * item_bytes
    return Box(offset, planes, rows, columns * item_bytes, (height * row_bytes, row_bytes))


class End(NamedTuple):
    """One end of a message: its lines at an address, and the strides where they go and where they come from."""

    way: int
    offset: int
    address: int
    remote_address: int
    box: Box
    to: tuple[int, int]
    source: tuple[int, int]

    def words(self, piece: int, pieces: int) -> list[int]:
        """The words of a part, one of ``pieces`` equal ones."""
        box, to, source, rows = self.box, self.to, self.source, self.box.rows
        if rows == 1:  # the lines are those of one plane
            rows, to, source = box.planes, (0, to[0]), (0, source[0])
        n_lines = box.planes * box.rows
        nbytes = n_lines * box.nbytes
        n = groups_of(nbytes) if self.way == PACKETS else n_lines
        lines = Lines(rows, box.nbytes, *to, *source, n * piece // pieces, n * (piece + 1) // pieces)
        return [*self[:4], nbytes, *lines]


class Messages(NamedTuple):
    """The messages of a PE.

    rows: neighbour, number of the message on this PE, on the neighbour, and its ends, sent and received
    n_numbers: sides of all fields on any PE;  most_rows: rows of the PE that has most
    inbox_bytes: of all messages, as packets;  largest_bytes: of a message
    """

    rows: list[tuple[int, int, int, End, End]]
    n_numbers: int
    most_rows: int
    inbox_bytes: int
    largest_bytes: int

    def words(self, pieces: int) -> list[int]:
        """The words that a kernel reads of the parts of all messages, as many on each PE."""
        words: list[int] = []
        for pe, own, peer, sent, received in self.rows:
            for piece in range(pieces):
                words += [pe, own * pieces + piece, peer * pieces + piece]
                words += sent.words(piece, pieces) + received.words(piece, pieces)
        return words + [0] * (self.most_rows * pieces * ROW_WORDS - len(words))


def groups_of(nbytes: int) -> int:
    """Number of groups of packets."""
    return -(-nbytes // GROUP_DATA_BYTES)


def messages_of(grid: Decomposition, me: int, fields: Sequence[ArrayView], corners: bool, ways: Ways) -> Messages:
    """The messages of PE ``me``.  The numbers, offsets and largest sizes of messages are the same on every PE."""
    steps, rows, most_bytes = list(steps_of(grid, corners)), [], []
    for field, step in product(fields, steps):
        every = zip(grid.halo, step, grid.most, strict=True)
        most_bytes.append(field.dtype.item_bytes * math.prod(h if one else n + 2 * h * corners for h, one, n in every))
    offsets = [0, *accumulate(aligned(groups_of(nbytes) * GROUP_BYTES) for nbytes in most_bytes)]

    def box(field: ArrayView, pe: int, step: Sizes, in_halo: bool) -> Box:
        return box_of(layout_of(grid, pe, field.dtype.item_bytes), points_of(grid, pe, step, in_halo, corners))

    for number, (field, step) in enumerate(product(fields, steps)):
        pe, k = grid.neighbour(me, step), number % len(steps)
        if pe is None:
            continue
        other = number + len(steps) - 1 - 2 * k  # goes to -step
        sent, comes = box(field, me, step, False), box(field, me, step, True)
        there = box(field, pe, tuple(-one for one in step), True)
        way, address = ways.of(me, pe, sent), field.address
        to = there.strides if way in (LOCAL, DIRECT) else sent.packed
        begin = End(way, offsets[number], address + sent.offset, address + there.offset, sent, to, sent.strides)
        way = ways.of(pe, me, comes)
        end = End(way, offsets[other], address + comes.offset, 0, comes, comes.strides, comes.packed)
        rows.append((pe, number, other, begin, end))
    most_rows = max(sum(grid.neighbour(pe, step) is not None for step in steps) for pe in grid.pes) * len(fields)
    return Messages(rows, len(most_bytes), most_rows, offsets[-1], max(most_bytes, default=0))
