"""Primitives that reduce elements, as part of ``block.py``.

While a reduction is under way, partials travel: float32 for the 16-bit floats, the element's own type for all others.
acc_bytes is the size of one.
"""
# mypy: disable-error-code="empty-body"

from .primitive import primitives
from .records import PE, Piece, Slots


def to_partials(ctx: int, dst: int, src: int, count: int) -> None:
    """dst (count,) partials = src (count,) elements."""


def reduce(ctx: int, dst: int, part: int, src: int, count: int) -> None:
    """dst (count,) partials = op(part (count,) partials, src (count,) elements)."""


def reduce_and_round(ctx: int, dst: int, part: int, src: int, count: int) -> None:
    """dst (count,) elements = op(part (count,) partials, src (count,) elements),
    divided by the number of PEs for ``avg``, rounded once to the element's type."""


def reduce_partials(ctx: int, dst: int, part: int, other: int, count: int) -> None:
    """dst (count,) partials = op(part (count,) partials, other (count,) partials), in this
    order: PEs that add the same two in the same order get the same bits."""


def reduce_partials_and_round(ctx: int, dst: int, part: int, other: int, count: int) -> None:
    """``reduce_and_round`` with other (count,) partials in place of elements; dst overlaps neither."""


def combine(pe: PE, piece: Piece, slots: Slots, scratch: int) -> None:
    """piece.out = op over all PEs, in their order: piece.src for this PE, slots (n_pes,) for the others; plus
    piece.residual, unless it is 0, before the result is rounded.  scratch (n_elems,) partials may be used."""


def combine_put(pe: PE, piece: Piece, there: int, slots: Slots, scratch: int) -> None:
    """``combine`` without a residual, and ``put`` of the result to ``there`` on every other PE, in one pass.  Where a PE
    is beyond a pointer the puts start from scratch, which the next fence gives back."""


def plus(ctx: int, dst: int, x: int, y: int, count: int) -> None:
    """dst (count,) elements = x (count,) + y (count,) elements, added as partials and rounded once."""


primitives(globals())
