"""Body of ``put_lines`` on a GPU: threads of a block take units of the lines, 16 bytes where all is so aligned."""

from numba import cuda

from .intrinsics import copy_one_16, load_1, load_4, load_word, store_1, store_4, store_word
from .peers import at
from .primitives import GAVE_UP


def copy_unit(to, src, unit):
    """Copy 16, 8, 4 or 1 bytes."""
    if unit == 16:
        copy_one_16(to, src)
    elif unit == 8:
        store_word(to, load_word(src))
    elif unit == 4:
        store_4(to, load_4(src))
    else:
        store_1(to, load_1(src))


def put_lines(ctx, dst, src, lines, pe):
    to = at(ctx, dst, pe)
    every = to | src | lines.nbytes | lines.dst_plane_bytes | lines.dst_row_bytes
    every = every | lines.src_plane_bytes | lines.src_row_bytes
    unit = 16 if every & 15 == 0 else 8 if every & 7 == 0 else 4 if every & 3 == 0 else 1
    units = lines.nbytes // unit  # of a line
    i, stop = lines.first * units + cuda.threadIdx.x, lines.stop * units
    if load_word(ctx + GAVE_UP) != 0:
        stop = 0  # a peer may still read what garbage would overwrite
    while i < stop:
        line = i // units
        plane = line // lines.rows
        row, within = line - plane * lines.rows, (i - line * units) * unit
        into = to + plane * lines.dst_plane_bytes + row * lines.dst_row_bytes + within
        copy_unit(into, src + plane * lines.src_plane_bytes + row * lines.src_row_bytes + within, unit)
        i += cuda.blockDim.x
    cuda.syncthreads()
