"""What is left of an AllReduce with an RMSNorm on one PE: no communication."""

from ..block import plus
from ..records import Norm, Reduction
from ..steps import rounds
from .rows import normalise, share_from


def add_and_normalise(ctx, call: Reduction, norm: Norm):
    """residual (n_elems,) = src (n_elems,) + residual; out (n_elems,) = its rows, normalised."""
    for start in rounds(call.n_elems, norm.share_elems):
        share, at = share_from(call, norm, start), start * call.item_bytes
        plus(ctx, call.residual + at, call.src + at, call.residual + at, share.n_elems - start)
        normalise(ctx, call, share, norm, start)
