"""The messages of a halo exchange, as the words that its kernel reads (kernels/halo/message.py)."""

import math
from collections.abc import Iterator, Sequence
from itertools import accumulate, chain, product
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
    """A box of points of an array of up to three dimensions, as lines of bytes.

    offset:  bytes from the start of the array to the first line
    planes:  number of planes;  rows: number of lines of a plane;  nbytes: bytes of a line
    strides: bytes from a plane to the next plane, and from a line to the next line
    """

    offset: int
    planes: int
    rows: int
    nbytes: int
    strides: tuple[int, int]

    @property
    def packed(self) -> tuple[int, int]:
        """The strides of the lines without gaps."""
        return self.rows * self.nbytes, self.nbytes


class Ways(NamedTuple):
    """The choice of a message's way.

    by_pointer: [p][q] is True if PE p stores into the memory of PE q by a pointer
    direct_min_bytes, direct_min_line_bytes: the least sizes of a DIRECT message and of its lines
    """

    by_pointer: Sequence[Sequence[bool]]
    topology: Topology
    direct_min_bytes: int
    direct_min_line_bytes: int

    def of(self, sender: int, receiver: int, box: Box) -> int:
        """The way of a message.  box: the lines of the message, at either end"""
        if sender == receiver:
            return LOCAL
        if not self.by_pointer[sender][receiver]:
            return PACKED
        if box.planes * box.rows * box.nbytes >= self.direct_min_bytes and box.nbytes >= self.direct_min_line_bytes:
            return DIRECT
        both_ways = self.by_pointer[receiver][sender]  # an inbox is used again after the answer
        return PACKETS if both_ways and self.topology.packets_between(sender, receiver) else PACKED


def steps_of(grid: Decomposition, corners: bool) -> Iterator[Sizes]:
    """The steps from a PE to the neighbours that it sends to: across faces; with ``corners``, edges and corners too."""
    for step in product((-1, 0, 1), repeat=len(grid.shape)):
        distance = sum(map(abs, step))
        has_halo = all(h or not places for h, places in zip(grid.halo, step, strict=True))
        if distance and (corners or distance == 1) and has_halo:
            yield step


def points_of(
    grid: Decomposition, pe: int, step: Sizes, in_halo: bool = False, to_ends: bool = False
) -> tuple[slice, ...]:
    """The own points of a PE that its neighbour at ``step`` keeps, or (``in_halo``) the halo beyond them.

    step:    number of places by dimension; 0: all own points of the dimension
    to_ends: in the dimensions without a step, include the halo at the ends of the grid
    """
    points = []
    for d, (n, h, places) in enumerate(zip(grid.own(pe), grid.halo, step, strict=True)):
        first, stop = h, h + n
        if places:
            first = n + h * in_halo if places > 0 else h - h * in_halo
            stop = first + h
        elif to_ends:
            before, after = grid.neighbours_along(pe, d)
            first, stop = first - h * (before is None), stop + h * (after is None)
        points.append(slice(first, stop))
    return tuple(points)


def box_of(layout: Layout, points: tuple[slice, ...]) -> Box:
    """The points of an array as a box."""
    ones, item_bytes = (1,) * (3 - len(layout.shape)), layout.item_bytes
    _, height, width = ones + layout.stored
    x, y, z = (0,) * len(ones) + tuple(indices.start for indices in points)
    planes, rows, columns = ones + tuple(indices.stop - indices.start for indices in points)
    row_bytes = width * item_bytes
    offset = (x * height + y) * row_bytes + z * item_bytes
    return Box(offset, planes, rows, columns * item_bytes, (height * row_bytes, row_bytes))


class End(NamedTuple):
    """One end of a message, as in kernels/halo/message.py.

    box:        the lines of the message
    to, source: the strides of the lines at their destination and at their source
    """

    way: int
    offset: int
    address: int
    remote_address: int
    box: Box
    to: tuple[int, int]
    source: tuple[int, int]

    def words(self, part: int, parts: int) -> list[int]:
        """The words of part ``part`` of ``parts`` equal parts."""
        box, to, source, rows = self.box, self.to, self.source, self.box.rows
        if rows == 1:  # one line a plane: the planes become the lines of one plane
            rows, to, source = box.planes, (0, to[0]), (0, source[0])
        n_lines = box.planes * box.rows
        nbytes = n_lines * box.nbytes
        n = groups_of(nbytes) if self.way == PACKETS else n_lines
        lines = Lines(rows, box.nbytes, *to, *source, n * part // parts, n * (part + 1) // parts)
        return [*self[:4], nbytes, *lines]


class Parts(NamedTuple):
    """The parts of a PE's messages.

    words:     of their rows, with zeros up to the same number on each PE
    counts:    n_received, n_sent and n_direct of ``Halo``
    most_rows: the most rows of a PE
    """

    words: list[int]
    counts: tuple[int, int, int]
    most_rows: int


class Messages(NamedTuple):
    """The messages of a PE.

    rows:          (neighbour, number of the message on this PE, its number on the neighbour, sent end, received end),
                   first those that receive a DIRECT message
    n_numbers:     number of pairs of a field and a step;  most_rows: the most rows of a PE
    inbox_bytes:   bytes of all messages, as packets
    largest_bytes: bytes of the largest message
    """

    rows: list[tuple[int, int, int, End, End]]
    n_numbers: int
    most_rows: int
    inbox_bytes: int
    largest_bytes: int

    def parts(self, parts: int, sent_parts: int) -> Parts:
        """Each message in ``parts`` parts.  sent_parts: number of parts in which a message of packets is sent"""

        def rows(pe: int, own: int, peer: int, end: End, n: int) -> list[list[int]]:
            return [[pe, own * parts + k, peer * parts + k, *end.words(k, n)] for k in range(n)]

        received, sent = [], []
        for pe, own, peer, sent_end, received_end in self.rows:
            received += rows(pe, own, peer, received_end, parts)
            sent += rows(pe, own, peer, sent_end, {LOCAL: 0, PACKETS: sent_parts}.get(sent_end.way, parts))
        n_direct = parts * sum(received_end.way == DIRECT for *_, received_end in self.rows)
        most_rows = self.most_rows * (parts + max(parts, sent_parts))
        words = list(chain(*received, *sent))
        padding = [0] * (most_rows * ROW_WORDS - len(words))
        return Parts(words + padding, (len(received), len(sent), n_direct), most_rows)


def groups_of(nbytes: int) -> int:
    """Number of groups of packets for ``nbytes`` bytes of data."""
    return -(-nbytes // GROUP_DATA_BYTES)


def messages_of(grid: Decomposition, me: int, fields: Sequence[ArrayView], corners: bool, ways: Ways) -> Messages:
    """The messages of PE ``me``.  The numbers, offsets and largest sizes of messages are the same on every PE."""
    steps, rows, most_bytes = list(steps_of(grid, corners)), [], []
    for field, step in product(fields, steps):
        dimensions = zip(grid.halo, step, grid.most, strict=True)
        n_points = math.prod(h if places else n + 2 * h * corners for h, places, n in dimensions)
        most_bytes.append(field.dtype.item_bytes * n_points)
    offsets = [0, *accumulate(aligned(groups_of(nbytes) * GROUP_BYTES) for nbytes in most_bytes)]

    def box(field: ArrayView, pe: int, step: Sizes, in_halo: bool) -> Box:
        return box_of(layout_of(grid, pe, field.dtype.item_bytes), points_of(grid, pe, step, in_halo, corners))

    for number, (field, step) in enumerate(product(fields, steps)):
        pe, k = grid.neighbour(me, step), number % len(steps)
        if pe is None:
            continue
        opposite = number + len(steps) - 1 - 2 * k  # number of the message that goes to -step
        own, halo = box(field, me, step, False), box(field, me, step, True)
        halo_of_peer = box(field, pe, tuple(-places for places in step), True)
        way, address = ways.of(me, pe, own), field.address
        to = halo_of_peer.strides if way in (LOCAL, DIRECT) else own.packed
        sent = End(way, offsets[number], address + own.offset, address + halo_of_peer.offset, own, to, own.strides)
        received = sent  # of a LOCAL message, which the receiver copies
        if way != LOCAL:
            way = ways.of(pe, me, halo)
            received = End(way, offsets[opposite], address + halo.offset, 0, halo, halo.strides, halo.packed)
        rows.append((pe, number, opposite, sent, received))
    rows.sort(key=lambda row: row[-1].way != DIRECT)
    most_rows = max(sum(grid.neighbour(pe, step) is not None for step in steps) for pe in grid.pes) * len(fields)
    return Messages(rows, len(most_bytes), most_rows, offsets[-1], max(most_bytes, default=0))
