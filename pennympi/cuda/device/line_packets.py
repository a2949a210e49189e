"""Packets of the lines of a box on a GPU: a thread gathers its 16 bytes from the lines, or scatters them there."""

from ..compiler.gpu import cuda
from .intrinsics import divide_32, load_1, load_4, load_word, store_1, store_4, store_word
from .packet_data import LOW, data_offset
from .packets import send_part, take
from .pointers import peer_address
from .waits import poisoned

PARTS = 32  # of a group of packets: one for each thread of a warp


def unit_bytes(address, lines, plane_bytes, row_bytes):
    """Bytes that a load may take from any place of the lines: 8, 4 or 1."""
    alignment = address | lines.nbytes | plane_bytes | row_bytes
    return 8 if alignment & 7 == 0 else 4 if alignment & 3 == 0 else 1


def place(lines, plane_bytes, row_bytes, offset):
    """Bytes from the start of a box to a byte of its packed lines."""
    line = divide_32(offset, lines.nbytes)
    plane = divide_32(line, lines.rows)
    return plane * plane_bytes + (line - plane * lines.rows) * row_bytes + offset - line * lines.nbytes


def gathered(src, lines, offset, nbytes, unit):
    """The 8 bytes at an offset of the packed lines, ``nbytes`` in all; those beyond are 0."""
    plane_bytes, row_bytes = lines.src_plane_bytes, lines.src_row_bytes
    if unit == 8:
        return load_word(src + place(lines, plane_bytes, row_bytes, offset)) if offset < nbytes else 0
    word = 0
    for k in range(0, min(8, nbytes - offset), unit):
        at = src + place(lines, plane_bytes, row_bytes, offset + k)
        word |= (load_4(at) & LOW if unit == 4 else load_1(at) & 255) << (8 * k)
    return word


def scattered(dst, lines, offset, nbytes, unit, word):
    """Write ``word`` at an offset of the packed lines."""
    plane_bytes, row_bytes = lines.dst_plane_bytes, lines.dst_row_bytes
    if unit == 8:
        if offset < nbytes:
            store_word(dst + place(lines, plane_bytes, row_bytes, offset), word)
        return
    for k in range(0, min(8, nbytes - offset), unit):
        at = dst + place(lines, plane_bytes, row_bytes, offset + k)
        if unit == 4:
            store_4(at, (word >> (8 * k)) & LOW)
        else:
            store_1(at, (word >> (8 * k)) & 255)


def send_lines(ctx, message, lines, epoch):
    slot, src, nbytes, pe = message
    to = peer_address(ctx, slot, pe)
    epoch = poisoned(ctx, epoch)
    unit = unit_bytes(src, lines, lines.src_plane_bytes, lines.src_row_bytes)
    i = lines.first * PARTS + cuda.threadIdx.x
    while i < lines.stop * PARTS:
        offset = data_offset(i)
        pair = (gathered(src, lines, offset, nbytes, unit), gathered(src, lines, offset + 8, nbytes, unit))
        send_part(to, i, pair, epoch)
        i += cuda.blockDim.x


def receive_lines(ctx, message, lines, epoch):
    dst, slot, nbytes, pe = message
    unit = unit_bytes(dst, lines, lines.dst_plane_bytes, lines.dst_row_bytes)
    i = lines.first * PARTS + cuda.threadIdx.x
    while i < lines.stop * PARTS:
        offset = data_offset(i)
        pair = take(ctx, slot, i, epoch, pe)
        scattered(dst, lines, offset, nbytes, unit, pair[0])
        if (i & 7) != 7:
            scattered(dst, lines, offset + 8, nbytes, unit, pair[1])
        i += cuda.blockDim.x
    cuda.syncthreads()
