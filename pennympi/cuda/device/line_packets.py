"""Packets of the lines of a box on a GPU: a thread gathers its 16 bytes from the lines, or scatters them there.

Few blocks move a message while others compute, so each of their threads has IN_FLIGHT parts under way.
"""

from typing import NamedTuple

from ...kernels.static import static
from ..compiler.gpu import cuda
from .intrinsics import divide_32, load_1, load_4, load_word, store_1, store_4, store_word
from .packet_data import LOW, data_offset
from .packets import ALL, lost, send_part
from .pointers import peer_address
from .waits import SPINS, check_wait, poisoned, report_wait
from .words import poll_pair

PARTS = 32  # of a group of packets: one for each thread of a warp
IN_FLIGHT = 4  # parts of a thread


def unit_bytes(address, lines, plane_bytes, row_bytes):
    """Bytes that a load may take from any place of the lines: 8, 4 or 1."""
    alignment = address | lines.nbytes | plane_bytes | row_bytes
    return 8 if alignment & 7 == 0 else 4 if alignment & 3 == 0 else 1


class Box(NamedTuple):
    """The lines of a message at one of its ends.

    rows: lines of a plane;  nbytes: bytes of a line
    row_gap, plane_gap: bytes from the end of a line to the next line of the plane; more bytes to the next plane
    """

    rows: int
    nbytes: int
    row_gap: int
    plane_gap: int


class Place(NamedTuple):
    """A byte of the lines, or the way to a later byte.

    address: of the byte;  row: number of its line in the plane;  byte: number of the byte in the line
    """

    address: int
    row: int
    byte: int


def box_of(lines, plane_bytes, row_bytes):
    """The lines at an end, from the bytes between its planes and between its lines."""
    return Box(lines.rows, lines.nbytes, row_bytes - lines.nbytes, plane_bytes - lines.rows * row_bytes)


def place_of(address, box, offset):
    """The place of byte ``offset`` of the packed lines, which begin at an address.  A thread divides only here."""
    line = divide_32(offset, box.nbytes)
    plane = 0
    if line >= box.rows:  # most boxes have one plane
        plane = divide_32(line, box.rows)
    address += offset + line * box.row_gap + plane * box.plane_gap
    return Place(address, line - plane * box.rows, offset - line * box.nbytes)


def moved(box, place, way):
    """The place that lies a way after another one.  A way is less than a plane, beside whole planes in its address."""
    address, row, byte = place.address + way.address, place.row + way.row, place.byte + way.byte
    if byte >= box.nbytes:
        address, row, byte = address + box.row_gap, row + 1, byte - box.nbytes
    if row >= box.rows:
        address, row = address + box.plane_gap, row - box.rows
    return Place(address, row, byte)


def words_at(box, place, left_bytes, otherwise):
    """The 16 bytes at a place of lines of whole words.  What lies beyond the message, the receiver does not read.

    left_bytes: of the message, from the place on;  otherwise: an address to read in place of one beyond the message
    """
    following = moved(box, place, Place(8, 0, 8))
    first = load_word(place.address if left_bytes > 0 else otherwise)
    return first, load_word(following.address if left_bytes > 8 else otherwise)


def words_in_flight(box, place, way, sizes, otherwise):
    """The words at IN_FLIGHT places, each a way after the one before, and the place after the last.

    sizes: bytes of the message from the first place on, and bytes of a way;  otherwise: as for ``words_at``
    """
    pairs = ()
    for k in static(IN_FLIGHT):
        pairs = (*pairs, words_at(box, place, sizes[0] - k * sizes[1], otherwise))
        place = moved(box, place, way)
    return pairs, place


def gathered(box, place, stop, unit):
    """The first ``stop`` of 16 bytes at a place of lines of units of 4 bytes or 1; the other bytes are 0."""
    first, second, k = 0, 0, 0
    while k < stop:
        data = load_4(place.address) & LOW if unit == 4 else load_1(place.address) & 255
        if k < 8:
            first |= data << (8 * k)
        else:
            second |= data << (8 * k - 64)
        place = moved(box, place, Place(unit, 0, unit))
        k += unit
    return first, second


def write_words(box, place, stop, pair):
    """Write the first ``stop`` of 16 bytes at a place of lines of whole words."""
    if stop > 0:
        store_word(place.address, pair[0])
    if stop > 8:
        store_word(moved(box, place, Place(8, 0, 8)).address, pair[1])


def scatter(box, place, stop, unit, pair):
    """Write the first ``stop`` of 16 bytes at a place of lines of units of 4 bytes or 1."""
    k = 0
    while k < stop:
        data = (pair[0] if k < 8 else pair[1]) >> (8 * (k & 7))
        if unit == 4:
            store_4(place.address, data & LOW)
        else:
            store_1(place.address, data & 255)
        place = moved(box, place, Place(unit, 0, unit))
        k += unit


def send_lines(ctx, message, lines, epoch):
    slot, src, nbytes, pe = message
    peer_slot = peer_address(ctx, slot, pe)
    epoch = poisoned(ctx, epoch)
    unit = unit_bytes(src, lines, lines.src_plane_bytes, lines.src_row_bytes)
    box = box_of(lines, lines.src_plane_bytes, lines.src_row_bytes)
    i = lines.first * PARTS + cuda.threadIdx.x
    step, stop = cuda.blockDim.x, lines.stop * PARTS
    offset, step_bytes = data_offset(i), data_offset(step)
    place, way = place_of(src, box, offset), place_of(0, box, step_bytes)
    left_bytes = nbytes - offset
    while unit == 8 and i < stop:
        pairs, place = words_in_flight(box, place, way, (left_bytes, step_bytes), src)
        left_bytes -= IN_FLIGHT * step_bytes
        for k in static(IN_FLIGHT):
            if i < stop:
                send_part(peer_slot, i, pairs[k], epoch)
            i += step
    while i < stop:
        send_part(peer_slot, i, gathered(box, place, min(16, left_bytes), unit), epoch)
        place, left_bytes = moved(box, place, way), left_bytes - step_bytes
        i += step


def receive_lines(ctx, message, lines, epoch):
    dst, slot, nbytes, pe = message
    unit = unit_bytes(dst, lines, lines.dst_plane_bytes, lines.dst_row_bytes)
    box = box_of(lines, lines.dst_plane_bytes, lines.dst_row_bytes)
    i = lines.first * PARTS + cuda.threadIdx.x
    step, stop = cuda.blockDim.x, lines.stop * PARTS
    offset, step_bytes = data_offset(i), data_offset(step)
    place, way = place_of(dst, box, offset), place_of(0, box, step_bytes)
    left_bytes, most = nbytes - offset, 8 if (i & 7) == 7 else 16  # the last part of a packet has one word
    spins, since_ns = 0, 0
    while i < stop:
        cuda.syncwarp(ALL)  # all lanes read a line in one instruction, see ``take``
        pairs = tuple(
            poll_pair(slot + (i + k * step) * 16) if i + k * step < stop else (0, epoch) for k in static(IN_FLIGHT)
        )
        content = epoch
        for k in static(IN_FLIGHT):
            if most == 8 and pairs[k][1] != epoch:
                content = pairs[k][1]
        ready = cuda.all_sync(ALL, content == epoch)
        if not ready:
            spins += 1
            if spins % SPINS == 0:
                since_ns, failed = check_wait(ctx, pe, since_ns)
                report_wait(ctx, pe)
                ready = lost(ctx, content != epoch, failed, content, epoch, pe)
        if ready:
            if unit == 8:
                for k in static(IN_FLIGHT):
                    if i < stop:
                        write_words(box, place, min(most, left_bytes), pairs[k])
                    place, left_bytes = moved(box, place, way), left_bytes - step_bytes
                    i += step
            else:
                last = min(i + IN_FLIGHT * step, stop)
                while i < last:
                    scatter(box, place, min(most, left_bytes), unit, poll_pair(slot + i * 16))
                    place, left_bytes = moved(box, place, way), left_bytes - step_bytes
                    i += step
            spins, since_ns = 0, 0
    cuda.syncthreads()
