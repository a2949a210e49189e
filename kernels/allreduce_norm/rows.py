"""The rows of an AllReduce with an RMSNorm: a block sums up whole ones, piece by piece, and normalises them; or its part
of a row, which the blocks of a cluster normalise together.

The sum plus the residual of this PE goes to the residual's memory, the normalised rows to ``out``, which may be ``src``:
a block has sent and added up all of its share by then.
"""

from ..block import rms_norm
from ..records import Norm, Reduction


def share_from(call: Reduction, norm: Norm, start: int) -> Reduction:
    """The sum alone, to the residual's memory, and as if it ended with the share that begins at element ``start``: its
    last piece ends there."""
    n_elems = min(start + norm.share_elems, call.n_elems)
    return Reduction(call.residual, call.src, n_elems, call.piece_elems, call.item_bytes, call.acc_bytes, 0, call.root)


def normalise(ctx: int, call: Reduction, share: Reduction, norm: Norm, start: int):
    """out = the RMSNorm of the totals, in the rows of a share from element ``start`` on, or in its part of one."""
    at, n_elems, weight = start * call.item_bytes, share.n_elems - start, norm.weight
    if norm.share_elems < norm.row_elems:
        weight += start % norm.row_elems * call.item_bytes
    rms_norm(ctx, call.out + at, share.out + at, weight, n_elems, norm.row_elems, norm.eps_bits)
