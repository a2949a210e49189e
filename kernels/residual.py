"""The AllReduce of one PE with a residual: no communication."""

from .elements import plus
from .records import Reduction
from .steps import piece_inside, rounds


def add_residual(ctx, call: Reduction):
    """out (n_elems,) = src (n_elems,) + residual (n_elems,); out may be either."""
    for start in rounds(call.n_elems, call.piece_elems):
        own = piece_inside(call, start)
        plus(ctx, own.out, own.src, own.residual, own.n_elems)
