"""Packets of the lines of a box on a GPU: a thread gathers its 16 bytes from the lines, or scatters them there."""

from ..compiler.gpu import cuda
from .intrinsics import divide_32, load_1, load_4, load_word, store_1, store_4, store_word
from .packet_data import LOW, data_offset
from .packets import ALL, send_part, take
from .pointers import peer_address
from .waits import poisoned
from .words import poll_pair

PARTS = 32  # of a group of packets: one for each thread of a warp


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


def gathered_pair(src, lines, i, nbytes, unit):
    """Part ``i`` of the lines, ``nbytes`` in all; bytes beyond are 0."""
    offset = data_offset(i)
    spot, plane_bytes, row_bytes = spot_of(lines, offset), lines.src_plane_bytes, lines.src_row_bytes
    first, second = 0, 0
    if unit == 8:
        if offset < nbytes:
            first = load_word(address_at(src, plane_bytes, row_bytes, spot))
        if offset + 8 < nbytes:
            second = load_word(address_at(src, plane_bytes, row_bytes, next_spot(lines, spot, 8)))
        return first, second
    k = 0
    while k < min(16, nbytes - offset):
        address = address_at(src, plane_bytes, row_bytes, spot)
        data = load_4(address) & LOW if unit == 4 else load_1(address) & 255
        if k < 8:
            first |= data << (8 * k)
        else:
            second |= data << (8 * k - 64)
        spot = next_spot(lines, spot, unit)
        k += unit
    return first, second


def scattered_pair(dst, lines, i, nbytes, unit, pair):
    """Write part ``i`` of the lines; the last part of a packet has 8 bytes."""
    offset = data_offset(i)
    stop = min(8 if (i & 7) == 7 else 16, nbytes - offset)
    spot, k = spot_of(lines, offset), 0
    while k < stop:
        address = address_at(dst, lines.dst_plane_bytes, lines.dst_row_bytes, spot)
        data = (pair[0] if k < 8 else pair[1]) >> (8 * (k & 7))
        if unit == 8:
            store_word(address, data)
        elif unit == 4:
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
    while i < stop:
        pair, following = gathered_pair(src, lines, i, nbytes, unit), (0, 0)
        if i + step < stop:  # two loads are under way
            following = gathered_pair(src, lines, i + step, nbytes, unit)
        send_part(peer_slot, i, pair, epoch)
        if i + step < stop:
            send_part(peer_slot, i + step, following, epoch)
        i += 2 * step


def receive_lines(ctx, message, lines, epoch):
    dst, slot, nbytes, pe = message
    unit = unit_bytes(dst, lines, lines.dst_plane_bytes, lines.dst_row_bytes)
    i = lines.first * PARTS + cuda.threadIdx.x
    step, stop = cuda.blockDim.x, lines.stop * PARTS
    while i < stop:
        if i + step < stop:
            cuda.syncwarp(ALL)  # all lanes read a line in one instruction
            pair, following = poll_pair(slot + i * 16), poll_pair(slot + (i + step) * 16)
            if not cuda.all_sync(ALL, (i & 7) != 7 or pair[1] == epoch):
                pair = take(ctx, slot, i, epoch, pe)
            scattered_pair(dst, lines, i, nbytes, unit, pair)
            if not cuda.all_sync(ALL, (i & 7) != 7 or following[1] == epoch):
                following = take(ctx, slot, i + step, epoch, pe)
            scattered_pair(dst, lines, i + step, nbytes, unit, following)
        else:
            scattered_pair(dst, lines, i, nbytes, unit, take(ctx, slot, i, epoch, pe))
        i += 2 * step
    cuda.syncthreads()
