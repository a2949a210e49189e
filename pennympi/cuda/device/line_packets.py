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


def place(lines, plane_bytes, row_bytes, offset):
    """Bytes from the start of a box to a byte of its packed lines."""
    line = divide_32(offset, lines.nbytes)
    plane = 0
    if line >= lines.rows:  # most boxes have one plane
        plane = divide_32(line, lines.rows)
    return plane * plane_bytes + (line - plane * lines.rows) * row_bytes + offset - line * lines.nbytes


def gathered(src, lines, offset, nbytes):
    """The 8 bytes at an offset of the packed lines, which have ``nbytes`` in all; 0 after the lines."""
    return load_word(src + place(lines, lines.src_plane_bytes, lines.src_row_bytes, offset)) if offset < nbytes else 0


def gathered_pair(src, lines, i, nbytes, unit):
    """Part ``i`` of the lines."""
    offset = data_offset(i)
    if unit == 8:
        return (gathered(src, lines, offset, nbytes), gathered(src, lines, offset + 8, nbytes))
    first, second = 0, 0
    k = 0
    while k < min(16, nbytes - offset):
        address = src + place(lines, lines.src_plane_bytes, lines.src_row_bytes, offset + k)
        data = load_4(address) & LOW if unit == 4 else load_1(address) & 255
        if k < 8:
            first |= data << (8 * k)
        else:
            second |= data << (8 * k - 64)
        k += unit
    return (first, second)


def scattered_pair(dst, lines, i, nbytes, unit, pair):
    """Write part ``i`` of the lines; the last part of a packet has 8 bytes."""
    offset = data_offset(i)
    stop = min(8 if (i & 7) == 7 else 16, nbytes - offset)
    k = 0
    while k < stop:
        address = dst + place(lines, lines.dst_plane_bytes, lines.dst_row_bytes, offset + k)
        data = (pair[0] if k < 8 else pair[1]) >> (8 * (k & 7))
        if unit == 8:
            store_word(address, data)
        elif unit == 4:
            store_4(address, data & LOW)
        else:
            store_1(address, data & 255)
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
