"""Implementation of ``put_lines`` on a CPU: short lines are copied by instructions of their length."""

from ...compile import context as ctx_words
from .intrinsics import copy_bytes, load_word
from .numba_cpu import device_function
from .primitives import IMPLEMENTATIONS, implementation, peer_address


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
    to, line = peer_address(ctx, dst, pe), lines.first
    while line < lines.stop:
        plane = line // lines.rows
        row = line - plane * lines.rows
        into, start = to + plane * lines.dst_plane_bytes, src + plane * lines.src_plane_bytes
        end = min(lines.rows, row + lines.stop - line)
        line += end - row
        while row < end:
            copy_line(into + row * lines.dst_row_bytes, start + row * lines.src_row_bytes, lines.nbytes)
            row += 1


__all__ = ["IMPLEMENTATIONS"]
