"""The methods with one sum an iteration, of two values, r * r and r * A r; see ``on_chip_kernel.py``."""

from functools import cache
from typing import Any

from pennympi.cuda.gpu import cuda
from pennympi.kernels.block import block, load, product, real, store, sync
from pennympi.kernels.in_kernel import (
    WORDS_BYTES,
    add_to_bins,
    give_sums,
    last_grid_barrier,
    no_bins,
    read_sum,
    take_sums,
)

from .brick import over, repeated
from .on_chip import EXCHANGES, Bricks, Shape
from .points import ratio
from .records import Scalars
from .rim import give_of, take_of
from .shared import shared


@cache
def steps_of(shape: Shape, pipelined: bool) -> Any:
    """What a thread does with its points of vectors, which are arrays in registers."""
    depth, plane, stride, whole, dtype = shape.depth, shape.plane, shape.stride, shape.whole, shape.dtype
    read, write = shared(dtype)

    def load_point(k, none, v, field, c):
        v[k] = load(field, c.at + k * stride) if whole or k < c.own else real(0.0)
        return none

    def read_point(k, none, v, c):
        v[k] = read(c.tile + k * plane)
        return none

    def show_point(k, none, v, c):
        write(c.tile + k * plane, v[k])
        return none

    def keep_point(k, none, q, here, c, v):
        v[k] = q if whole or k < c.own else real(0.0)
        return none

    def add_product(k, bins, v, w):
        return add_to_bins(bins, (1.0 * v[k]) * (1.0 * w[k]))

    def new_vectors(k, none, r, p, s, w, z, q, alpha, beta):
        s[k] = w[k] + product(beta, s[k])
        p[k] = r[k] + product(beta, p[k])
        r[k] -= product(alpha, s[k])
        if pipelined:
            z[k] = q[k] + product(beta, z[k])
            w[k] -= product(alpha, z[k])
        return none

    def new_u(k, none, old, u, alpha, p, c):
        if whole or k < c.own:
            store(u, c.at + k * stride, old[k] + product(alpha, p[k]))
        return none

    steps = load_point, read_point, show_point, add_product, new_vectors, new_u
    return *(repeated(step, depth) for step in steps), over(shape, keep_point)


@cache
def one_sum_of(shape: Shape, pipelined: bool) -> Any:
    """``run``: the iterations.

    Shared memory has r or, if pipelined, w; before and after the iterations it has p.
    """
    load_all, read_all, show, dot, set_vectors, set_u, apply = steps_of(shape, pipelined)
    give, take, depth, dtype = give_of(shape), take_of(shape), shape.depth, shape.dtype

    def spread(ctx, v, to, number, part, c):
        """to = A v, of which ``give`` has sent v in exchange ``number``."""
        show(0, 0, v, c)
        take(ctx, number, real(0.0), c)
        sync()
        apply(0, part, c, to)

    def spread_now(ctx, v, to, number, part, c):
        give(ctx, v, number, c)
        spread(ctx, v, to, number, part, c)
        sync()

    def run(ctx, part, scalars: Scalars, most, bricks: Bricks, place, rr, c):
        r, p, s = cuda.local.array(depth, dtype), cuda.local.array(depth, dtype), cuda.local.array(depth, dtype)
        w, z, q = cuda.local.array(depth, dtype), cuda.local.array(depth, dtype), cuda.local.array(depth, dtype)
        k, epoch, before, keep = 0, last_grid_barrier(place) + 1, read_sum(rr - WORDS_BYTES), rr if block() == 0 else 0
        number = EXCHANGES * epoch + 1
        read_all(0, 0, p, c)
        load_all(0, 0, r, bricks.r, c)
        spread_now(ctx, p, s, number, part, c)
        spread_now(ctx, r, w, number + 1, part, c)
        number += 1
        if pipelined:
            spread_now(ctx, s, z, number + 1, part, c)
            number += 2
            give(ctx, w, number, c)
        bins = dot(0, no_bins(), p, s)
        give_sums(ctx, place, epoch, (bins, bins))
        pap = take_sums(ctx, place, epoch, keep)[0]
        while True:
            epoch, keep = epoch + 1, rr + k * WORDS_BYTES if block() == 0 else 0
            give_sums(ctx, place, epoch, (dot(0, no_bins(), r, r), dot(0, no_bins(), w, r)))
            if pipelined:
                spread(ctx, w, q, number, part, c)
            now, delta = take_sums(ctx, place, epoch, keep)
            if k == most or (k > 0 and not now > scalars.below):
                break
            beta = ratio(now, before)
            pap = delta - beta * beta * pap
            k, number, before, alpha = k + 1, number + 1, now, real(ratio(now, pap))
            set_vectors(0, 0, r, p, s, w, z, q, alpha, real(beta))
            old = cuda.local.array(depth, dtype)
            load_all(0, 0, old, bricks.u, c)
            give(ctx, w if pipelined else r, number, c)
            set_u(0, 0, old, bricks.u, alpha, p, c)
            if not pipelined:
                spread(ctx, r, w, number, part, c)
        show(0, 0, p, c)
        return k

    return run
