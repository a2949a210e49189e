"""Implementations of the primitives of lines on a CPU: short lines are copied by instructions of their length."""

from ...compile import context as ctx_words
from ...kernels.packets import GROUP_BYTES, GROUP_DATA_BYTES
from .combine import HEAD_BYTES
from .intrinsics import copy_bytes, load_word
from .numba_cpu import device_function
from .primitives import IMPLEMENTATIONS, implementation, peer_address, send
from .waits import wait_tagged


@device_function
def copy_line(dst, src, nbytes):
    """Copy a line; a copy of a constant length becomes one instruction."""
    if nbytes == 8:
        copy_bytes(dst, src, 8)
    elif nbytes == 4:
        copy_bytes(dst, src, 4)
    else:
        copy_bytes(dst, src, nbytes)


@implementation
def put_lines(ctx, dst, src, lines, pe):
    if load_word(ctx + 8 * ctx_words.GAVE_UP) != 0:  # a peer may still read the bytes that this would overwrite
        return
    peer_dst, line = peer_address(ctx, dst, pe), lines.first
    while line < lines.stop:
        plane = line // lines.rows
        row = line - plane * lines.rows
        dst_plane, src_plane = peer_dst + plane * lines.dst_plane_bytes, src + plane * lines.src_plane_bytes
        end = min(lines.rows, row + lines.stop - line)
        line += end - row
        while row < end:
            copy_line(dst_plane + row * lines.dst_row_bytes, src_plane + row * lines.src_row_bytes, lines.nbytes)
            row += 1


@device_function
def copy_packed(packed, box, lines, first, stop, gathers):
    """Copy bytes ``first`` to ``stop - 1`` of the packed lines of a box to ``packed``, or from there to the box."""
    plane_bytes = lines.src_plane_bytes if gathers else lines.dst_plane_bytes
    row_bytes = lines.src_row_bytes if gathers else lines.dst_row_bytes
    while first < stop:
        line = first // lines.nbytes
        plane, start = line // lines.rows, first - line * lines.nbytes
        box_address = box + plane * plane_bytes + (line - plane * lines.rows) * row_bytes + start
        n = min(lines.rows - (line - plane * lines.rows), (stop - first) // lines.nbytes) if start == 0 else 0
        for _ in range(n):  # whole lines of a plane
            copy_line(packed if gathers else box_address, box_address if gathers else packed, lines.nbytes)
            packed, box_address = packed + lines.nbytes, box_address + row_bytes
        first += n * lines.nbytes
        if n == 0:
            nbytes = min(lines.nbytes - start, stop - first)
            copy_bytes(packed if gathers else box_address, box_address if gathers else packed, nbytes)
            packed, first = packed + nbytes, first + nbytes


@implementation
def send_lines(ctx, message, lines, epoch):
    head, pe = message.dst + lines.first * GROUP_BYTES, message.peer
    first, stop = lines.first * GROUP_DATA_BYTES, min(message.nbytes, lines.stop * GROUP_DATA_BYTES)
    if first < stop:
        if load_word(ctx + 8 * ctx_words.GAVE_UP) == 0:  # else the peer may still read the slot
            copy_packed(peer_address(ctx, head, pe) + HEAD_BYTES, message.src, lines, first, stop, True)
        send(ctx, head, epoch, pe)


@implementation
def receive_lines(ctx, message, lines, epoch):
    head = message.src + lines.first * GROUP_BYTES
    first, stop = lines.first * GROUP_DATA_BYTES, min(message.nbytes, lines.stop * GROUP_DATA_BYTES)
    if first < stop:
        wait_tagged(ctx, head, epoch, message.peer)
        copy_packed(head + HEAD_BYTES, message.dst, lines, first, stop, False)


__all__ = ["IMPLEMENTATIONS"]
