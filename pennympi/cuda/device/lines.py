"""Implementation of ``put_lines`` on a GPU: threads copy units of the lines, of 16 bytes if all addresses are aligned."""

from ..compiler.gpu import cuda
from .intrinsics import copy_one_16, divide_32, load_1, load_4, load_word, store_1, store_4, store_word
from .pointers import peer_address
from .waits import GAVE_UP
from .words import load_pair, store_pair


def offsets(lines, i, units, unit):
    """Offsets of unit i in the destination and in the source, in bytes."""
    line = divide_32(i, units)
    plane = divide_32(line, lines.rows)
    row, within = line - plane * lines.rows, (i - line * units) * unit
    dst_offset = plane * lines.dst_plane_bytes + row * lines.dst_row_bytes + within
    return dst_offset, plane * lines.src_plane_bytes + row * lines.src_row_bytes + within


def move_1(dst, src, unit):
    """Copy a unit."""
    if unit == 16:
        copy_one_16(dst, src)
    elif unit == 8:
        store_word(dst, load_word(src))
    elif unit == 4:
        store_4(dst, load_4(src))
    else:
        store_1(dst, load_1(src))


def move_4(dst, src, lines, i, units, unit):
    """Copy four units, blockDim.x units apart: all loads come before the first store."""
    step = cuda.blockDim.x
    a, p = offsets(lines, i, units, unit)
    b, q = offsets(lines, i + step, units, unit)
    c, r = offsets(lines, i + 2 * step, units, unit)
    d, s = offsets(lines, i + 3 * step, units, unit)
    if unit == 16:
        w, x, y, z = load_pair(src + p), load_pair(src + q), load_pair(src + r), load_pair(src + s)
        store_pair(dst + a, w)
        store_pair(dst + b, x)
        store_pair(dst + c, y)
        store_pair(dst + d, z)
    elif unit == 8:
        w, x, y, z = load_word(src + p), load_word(src + q), load_word(src + r), load_word(src + s)
        store_word(dst + a, w)
        store_word(dst + b, x)
        store_word(dst + c, y)
        store_word(dst + d, z)
    else:
        move_1(dst + a, src + p, unit)
        move_1(dst + b, src + q, unit)
        move_1(dst + c, src + r, unit)
        move_1(dst + d, src + s, unit)


def put_lines(ctx, dst, src, lines, pe):
    peer_dst = peer_address(ctx, dst, pe)
    alignment = peer_dst | src | lines.nbytes | lines.dst_plane_bytes | lines.dst_row_bytes
    alignment = alignment | lines.src_plane_bytes | lines.src_row_bytes
    unit = 16 if alignment & 15 == 0 else 8 if alignment & 7 == 0 else 4 if alignment & 3 == 0 else 1
    units = lines.nbytes // unit  # units of a line
    i, stop = lines.first * units + cuda.threadIdx.x, lines.stop * units
    if load_word(ctx + GAVE_UP) != 0:
        stop = 0  # a peer may still read the bytes that this would overwrite
    while i + 3 * cuda.blockDim.x < stop:
        move_4(peer_dst, src, lines, i, units, unit)
        i += 4 * cuda.blockDim.x
    while i < stop:
        dst_offset, src_offset = offsets(lines, i, units, unit)
        move_1(peer_dst + dst_offset, src + src_offset, unit)
        i += cuda.blockDim.x
    cuda.syncthreads()
