"""A residual without any communication: what is left of an AllReduce of one PE."""

from .block import block, blocks, plus


def add_residual(ctx, out, src, residual, item_bytes, count, piece_elems):
    """out (count,) elements = src (count,) + residual (count,); out may be either."""
    low = block() * piece_elems
    while low < count:
        at = low * item_bytes
        plus(ctx, out + at, src + at, residual + at, min(piece_elems, count - low))
        low += blocks() * piece_elems
