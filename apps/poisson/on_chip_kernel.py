"""All iterations in one kernel, whose blocks keep the vectors on chip: a block has a brick of the part.

A thread has a column of the brick along x, of every vector.  What A is applied to lies in shared memory, with a rim of
one point, which comes as packets while a sum is under way.  The other vectors lie in registers, and a part of r in shared
memory if columns are long.  Only u stays in global memory, hence in the L2 cache.
A brick has an inbox of packets, twice, used by turns: who sends for the next time but one has taken what its neighbours
sent for the next time, which they did when they had taken all of this time.

Three methods, made of the same steps (brick.py, rim.py):
cg:        the bits of loop.py.  Faces of r travel; the direction of the rim is computed from them.  Two sums in a row
one_sum:   Chronopoulos and Gear, "s-step iterative methods for symmetric linear systems" (1989): s = A p goes along
pipelined: Ghysels and Vanroose, "Hiding global synchronization latency in the preconditioned Conjugate Gradient
           algorithm" (2014): w = A r and z = A s go along too, and the sum is under way while A w is computed
"""

from functools import cache
from typing import Any

from pennympi.kernels.block import add_shared, block, is_leader, lanes, load, read_epoch, store, sync
from pennympi.kernels.in_kernel import WORDS_BYTES, GridBarrier

from .brick import column_of
from .cg import cg_of
from .on_chip import VALUES, Bricks, Shape
from .one_sum import one_sum_of
from .records import Part, Scalars
from .shared import shared


@cache
def on_chip_of(shape: Shape, method: str) -> Any:
    """The kernel."""
    column, several, n_sums, tile = column_of(shape), shape.several, VALUES[method], shape.tile
    run = cg_of(shape) if method == "cg" else one_sum_of(shape, method == "pipelined")
    read, write = shared(shape.dtype)

    def on_chip(ctx, part: Part, scalars: Scalars, most, bricks: Bricks, barrier: GridBarrier):
        """At most ``most`` iterations.  All blocks run at the same time."""
        c, saved = column(part, bricks), block() * tile
        place = GridBarrier(barrier.me, barrier.n_pes if several else 1, n_sums, barrier.memory)
        rr = scalars.history + (read_epoch(scalars.runs, 0) + 1) * WORDS_BYTES
        for i in lanes(0, tile):
            write(i, load(bricks.p, saved + i))
        sync()
        k = run(ctx, part, scalars, most, bricks, place, rr, c)
        sync()
        for i in lanes(0, tile):
            store(bricks.p, saved + i, read(i))
        if block() == 0 and is_leader():
            add_shared(scalars.runs, 0, k)

    return on_chip
