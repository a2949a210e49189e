"""Primitives that reduce elements, as part of ``block.py``.

A reduction sends partials: float32 for the 16-bit floats, the element's own type for all other dtypes.  acc_bytes is the
size of a partial.
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


def reduce_partials(ctx: int, dst: int, left: int, right: int, count: int) -> None:
    """dst (count,) partials = op(left (count,) partials, right (count,) partials), in this order: PEs that add the same
    two partials in the same order get the same bits."""


def reduce_partials_and_round(ctx: int, dst: int, left: int, right: int, count: int) -> None:
    """``reduce_partials``, then rounded as by ``reduce_and_round``; dst overlaps neither left nor right."""


def combine(pe: PE, piece: Piece, slots: Slots, scratch: int) -> None:
    """piece.out = op over all PEs, in their order: piece.src for this PE, slots (n_pes,) for the other PEs.
    piece.residual, unless it is 0, is added before the result is rounded.  scratch: memory for (n_elems,) partials"""


def combine_put(pe: PE, piece: Piece, dst: int, slots: Slots, scratch: int) -> None:
    """``combine`` without a residual, and ``put`` of the result to ``dst`` on every other PE, in one pass.  If no pointer
    reaches some PE, the puts start from scratch, which is free again after the next fence."""


def plus(ctx: int, dst: int, x: int, y: int, count: int) -> None:
    """dst (count,) elements = x (count,) + y (count,) elements, added as partials and rounded once."""


primitives(globals())
