"""Conjugate gradients in one kernel, to the bits of loop.py; see ``on_chip_kernel.py``."""

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

from .brick import over, repeated, vector_of
from .on_chip import EXCHANGES, Bricks, Shape
from .points import ratio
from .records import Scalars
from .rim import give_of, take_of
from .shared import shared

AHEAD = 4  # loads of u that are under way


@cache
def cg_of(shape: Shape) -> Any:
    """``run``: the iterations, to the bits of loop.py.  The direction p lies in shared memory."""
    (get, put), give, take = vector_of(shape), give_of(shape), take_of(shape)
    depth, plane, stride, whole, dtype = shape.depth, shape.plane, shape.stride, shape.whole, shape.dtype
    n_registers, n_ahead = depth - shape.kept, min(depth, AHEAD)
    read, write = shared(dtype)

    def load_r(k, none, r, field, c):
        put(r, k, load(field, c.at + k * stride) if whole or k < c.own else real(0.0))
        return none

    def load_u(k, none, ahead, u, c):
        if whole or k < c.own:
            ahead[k % AHEAD] = load(u, c.at + k * stride)
        return none

    def new_p(k, none, r, beta, c):
        at = c.tile + k * plane
        write(at, get(r, k) + product(beta, read(at)))
        return none

    def p_times_q(k, bins, q, p, c):
        return add_to_bins(bins, (1.0 * p) * (1.0 * q))

    def new_u_and_r(k, bins, q, p, c, r, u, ahead, alpha):
        left = real(0.0)
        if whole or k < c.own:
            store(u, c.at + k * stride, ahead[k % AHEAD] + product(alpha, p))
            left = get(r, k) - product(alpha, q)
        put(r, k, left)
        if k + AHEAD < depth:
            load_u(k + AHEAD, 0, ahead, u, c)
        return add_to_bins(bins, (1.0 * left) * (1.0 * left))

    load_all, load_first = repeated(load_r, depth), repeated(load_u, n_ahead)
    set_p, sum_pap, set_u_and_r = repeated(new_p, depth), over(shape, p_times_q), over(shape, new_u_and_r)

    def run(ctx, part, scalars: Scalars, most, bricks: Bricks, place, rr, c):
        r, ahead = cuda.local.array(n_registers, dtype), cuda.local.array(AHEAD, dtype)
        k, epoch = 0, last_grid_barrier(place)
        number, now, before = EXCHANGES * epoch + 1, read_sum(rr), read_sum(rr - WORDS_BYTES)
        load_all(0, 0, r, bricks.r, c)
        give(ctx, r, number, c)
        while k < most:
            beta, keep = real(ratio(now, before)), rr + (k + 1) * WORDS_BYTES if block() == 0 else 0
            set_p(0, 0, r, beta, c)
            take(ctx, number, beta, c)
            sync()
            give_sums(ctx, place, epoch + 1, (sum_pap(no_bins(), part, c),))
            load_first(0, 0, ahead, bricks.u, c)
            alpha = real(ratio(now, take_sums(ctx, place, epoch + 1, keep)[0]))
            give_sums(ctx, place, epoch + 2, (set_u_and_r(no_bins(), part, c, r, bricks.u, ahead, alpha),))
            k, epoch, number, before = k + 1, epoch + 2, number + 1, now
            give(ctx, r, number, c)
            now = take_sums(ctx, place, epoch, keep)[0]
            if not now > scalars.below:
                break
        return k

    return run
