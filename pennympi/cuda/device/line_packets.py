"""Packets of the lines of a box on a GPU: a thread gathers its 16 bytes from the lines, or scatters them there.

A few blocks move a message while all others compute, so each of their threads has IN_FLIGHT parts under way.
"""

from ...kernels.static import static
from ..compiler.gpu import cuda
from .intrinsics import divide_32, load_1, load_4, load_word, store_1, store_4, store_word
from .packet_data import LOW, data_offset
from .packets import ALL, lost, send_part
from .pointers import peer_address
from .waits import SPINS, check_wait, poisoned, report_wait
from .words import poll_pair

PARTS = 32  # of a group of packets: one for each thread of a warp
IN_FLIGHT = 8  # parts of a thread


def unit_bytes(address, lines, plane_bytes, row_bytes):
    """Bytes that a load may take from any place of the lines: 8, 4 or 1."""
    alignment = address | lines.nbytes | plane_bytes | row_bytes
    return 8 if alignment & 7 == 0 else 4 if alignment & 3 == 0 else 1


def spot_of(lines, offset):
    """(plane, row of the plane, byte of the line) of a byte of the packed lines."""
    line = divide_32(offset, lines.nbytes)
    plane = 0
    if line >= lines.rows:  # most boxes have one plane
        plane = divide_32(line, lines.rows)
    return plane, line - plane * lines.rows, offset - line * lines.nbytes


def next_spot(lines, spot, unit):
    """The spot of the byte ``unit`` bytes later, without a division.  A line has whole units."""
    plane, row, byte = spot
    byte += unit
    if byte >= lines.nbytes:
        byte, row = 0, row + 1
        if row >= lines.rows:
            row, plane = 0, plane + 1
    return plane, row, byte


def address_at(start, plane_bytes, row_bytes, spot):
    """Address of a byte of a box."""
    return start + spot[0] * plane_bytes + spot[1] * row_bytes + spot[2]


def words_of_part(src, lines, i, nbytes):
    """Part ``i`` of lines of whole words, ``nbytes`` in all; the receiver does not read what lies beyond."""
    offset, last = data_offset(i), nbytes - 8
    spot = spot_of(lines, min(offset, last))
    following = next_spot(lines, spot, 8) if offset < last else spot
    first = load_word(address_at(src, lines.src_plane_bytes, lines.src_row_bytes, spot))
    return first, load_word(address_at(src, lines.src_plane_bytes, lines.src_row_bytes, following))


def gathered_part(src, lines, i, nbytes, unit):
    """Part ``i`` of lines of units of 4 bytes or 1; bytes beyond ``nbytes`` are 0."""
    offset = data_offset(i)
    spot, first, second, k = spot_of(lines, offset), 0, 0, 0
    while k < min(16, nbytes - offset):
        address = address_at(src, lines.src_plane_bytes, lines.src_row_bytes, spot)
        data = load_4(address) & LOW if unit == 4 else load_1(address) & 255
        if k < 8:
            first |= data << (8 * k)
        else:
            second |= data << (8 * k - 64)
        spot = next_spot(lines, spot, unit)
        k += unit
    return first, second


def write_words(dst, lines, i, nbytes, pair):
    """Write part ``i`` of lines of whole words; the last part of a packet has one word."""
    offset = data_offset(i)
    spot = spot_of(lines, offset)
    following = next_spot(lines, spot, 8)
    if offset < nbytes:
        store_word(address_at(dst, lines.dst_plane_bytes, lines.dst_row_bytes, spot), pair[0])
    if offset + 8 < nbytes and (i & 7) != 7:
        store_word(address_at(dst, lines.dst_plane_bytes, lines.dst_row_bytes, following), pair[1])


def scatter_part(dst, lines, i, nbytes, unit, pair):
    """Write part ``i`` of lines of units of 4 bytes or 1."""
    offset = data_offset(i)
    stop = min(8 if (i & 7) == 7 else 16, nbytes - offset)
    spot, k = spot_of(lines, offset), 0
    while k < stop:
        address = address_at(dst, lines.dst_plane_bytes, lines.dst_row_bytes, spot)
        data = (pair[0] if k < 8 else pair[1]) >> (8 * (k & 7))
        if unit == 4:
            store_4(address, data & LOW)
        else:
            store_1(address, data & 255)
        spot = next_spot(lines, spot, unit)
        k += unit


def send_lines(ctx, message, lines, epoch):
    slot, src, nbytes, pe = message
    peer_slot = peer_address(ctx, slot, pe)
    epoch = poisoned(ctx, epoch)
    unit = unit_bytes(src, lines, lines.src_plane_bytes, lines.src_row_bytes)
    i = lines.first * PARTS + cuda.threadIdx.x
    step, stop = cuda.blockDim.x, lines.stop * PARTS
    while unit == 8 and i < stop:
        pairs = tuple(
            words_of_part(src, lines, i + k * step, nbytes) if i + k * step < stop else (0, 0) for k in static(IN_FLIGHT)
        )
        for k in static(IN_FLIGHT):
            if i + k * step < stop:
                send_part(peer_slot, i + k * step, pairs[k], epoch)
        i += IN_FLIGHT * step
    while i < stop:
        send_part(peer_slot, i, gathered_part(src, lines, i, nbytes, unit), epoch)
        i += step


def receive_lines(ctx, message, lines, epoch):
    dst, slot, nbytes, pe = message
    unit = unit_bytes(dst, lines, lines.dst_plane_bytes, lines.dst_row_bytes)
    i = lines.first * PARTS + cuda.threadIdx.x
    step, stop = cuda.blockDim.x, lines.stop * PARTS
    spins, since_ns = 0, 0
    while i < stop:
        cuda.syncwarp(ALL)  # all lanes read a line in one instruction, see ``take``
        pairs = tuple(
            poll_pair(slot + (i + k * step) * 16) if i + k * step < stop else (0, epoch) for k in static(IN_FLIGHT)
        )
        content = epoch
        for k in static(IN_FLIGHT):
            if (i & 7) == 7 and pairs[k][1] != epoch:
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
                    if i + k * step < stop:
                        write_words(dst, lines, i + k * step, nbytes, pairs[k])
            else:
                part = i
                while part < min(i + IN_FLIGHT * step, stop):
                    scatter_part(dst, lines, part, nbytes, unit, poll_pair(slot + part * 16))
                    part += step
            i += IN_FLIGHT * step
            spins, since_ns = 0, 0
    cuda.syncthreads()
