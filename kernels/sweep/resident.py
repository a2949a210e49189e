"""All sweeps in one launch, which exchanges the halos before each pass of a few sweeps.

    pass             0    1    2    3     ...
    reads field      u    v    u    v     ...

Before pass k a PE puts its points into the halos of its neighbours' instances of the field that pass k reads, and waits
for theirs.  Pass k does not read the halos of the other field, so before it the PE also signals that the neighbours may
write those halos, for pass k + 1.

A PE runs one block.  It saves the launches between the passes, and its data stays in its core's cache.
"""

from collections.abc import Callable
from typing import NamedTuple

from ..block import Elements, Words, fence, sync
from ..halo.exchange import halo_put, halo_ready, halo_wait
from ..records import Halo
from .norm import LEVEL_BYTES
from .records import Box, Cut, Pass, SweepFields


class Passes(NamedTuple):
    """The passes of a call: n_large passes of ``large`` sweeps, then passes of ``small`` sweeps.

    n_passes: number of all passes
    quiet:    number of sweeps at the start that have no norm
    """

    n_passes: int
    n_large: int
    large: int
    small: int
    quiet: int


class SweepCall(NamedTuple):
    """The arguments that the passes of a call share.

    fields: fields of the first pass
    sides:  1 for each bound of the box that has a neighbour, else 0
    values, scratch: as in ``Pass``;  words: address of the words of the first sweep that has a norm
    """

    fields: SweepFields
    box: Box
    sides: Box
    values: Elements
    words: Words
    scratch: int


def resident_kernel(one_pass: Callable[..., None]) -> Callable[..., None]:
    """The kernel of all passes.  one_pass: the kernel of a pass, whose ``Cut`` is (sweeps, sweeps without a norm)"""

    def resident_sweeps(ctx: int, call: SweepCall, passes: Passes, of_old: Halo, of_new: Halo):
        """All passes.  of_old, of_new: the halos of the two fields"""
        quiet, words = passes.quiet, call.words
        halo_ready(ctx, of_old, 1)
        for k in range(passes.n_passes):
            exchange(ctx, k, passes.n_passes - 1, of_old, of_new)
            depth = passes.large if k < passes.n_large else passes.small
            cut = Cut(depth, min(quiet, depth), 0, 0, 0)
            fields, live = in_turn(call.fields, k), widened(call.box, call.sides, depth)
            one_pass(ctx, Pass(fields, call.box, live, cut, call.values, words, call.scratch))
            words += (depth - cut.lead) * LEVEL_BYTES
            quiet -= cut.lead
            sync()

    return resident_sweeps


def exchange(ctx: int, k: int, last: int, of_old: Halo, of_new: Halo):
    """Before pass k, exchange the halos that it reads, and allow the neighbours to write the halos of pass k + 1."""
    if k % 2 == 0:
        put_and_wait(ctx, of_old)
        if k < last:
            halo_ready(ctx, of_new, 1)
    else:
        put_and_wait(ctx, of_new)
        if k < last:
            halo_ready(ctx, of_old, 1)


def put_and_wait(ctx: int, halo: Halo):
    """Exchange the halos of a field."""
    halo_put(ctx, halo, 1)
    halo_wait(ctx, halo, 1)
    fence(ctx)  # see ``exchange_parts``


def in_turn(fields: SweepFields, k: int):
    """The fields of pass k."""
    new, old = (fields.new, fields.old) if k % 2 == 0 else (fields.old, fields.new)
    return SweepFields(new, old, fields.coefficient, fields.plane, fields.row)


def widened(box: Box, sides: Box, width: int):
    """A box, ``width`` points wider at each side that has a neighbour."""
    x0, x1 = box.x0 - width * sides.x0, box.x1 + width * sides.x1
    y0, y1 = box.y0 - width * sides.y0, box.y1 + width * sides.y1
    return Box(x0, x1, y0, y1, box.z0 - width * sides.z0, box.z1 + width * sides.z1)
