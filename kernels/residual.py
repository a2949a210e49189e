"""A residual without any communication: what is left of an AllReduce of one PE."""

from .elements import plus
from .records import Reduction
from .steps import piece_inside, rounds


def add_residual(ctx, call: Reduction):
    """out (n_elems,) = src (n_elems,) + residual (n_elems,); out may be either."""
    for start in rounds(call.n_elems, call.piece_elems):
        own = piece_inside(call, start)
        plus(ctx, own.out, own.src, own.residual, own.n_elems)
