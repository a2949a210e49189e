"""Random AllReduces with an RMSNorm of the rows, and what each must give; the body of ``rms_norm``."""

from dataclasses import replace
from random import Random
from struct import pack, unpack
from typing import Any

import numpy as np
from greenlet import getcurrent

from pennympi.kernels.algorithm import Algorithm, Limits

from .arrays import Arrays, Held, values
from .bodies import body
from .device import Launch, Machine
from .workspaces import Workspace, launch, small_plan

NORMS = "allreduce_norm"
EPS = 1e-6
(EPS_BITS,) = unpack("=q", pack("=d", EPS))


def normalised(rows, weight, eps):
    """The RMSNorm of rows (n, row_elems), of their dtype."""
    wide = rows.astype(np.float64)
    return (wide * weight / np.sqrt((wide * wide).mean(-1, keepdims=True) + eps)).astype(rows.dtype)


@body
def rms_norm(ctx, out, x, weight, n_elems, row_elems, eps_bits):
    b = getcurrent()
    rows, result = (b.memory.elements(b.pe, at, n_elems, b.item).reshape(-1, row_elems) for at in (x, out))
    scale, (eps,) = b.memory.elements(b.pe, weight, row_elems, b.item), unpack("=d", pack("=q", eps_bits))
    for row in range(len(rows)):
        result[row : row + 1] = normalised(rows[row : row + 1], scale, eps)
        b.pause()


def call_with_norm(
    machine: Machine,
    table: str,
    row: Algorithm,
    workspace: Workspace,
    arrays: Arrays,
    limits: Limits,
    rng: Random,
    number: int,
    plan_number: int = 0,
) -> list[list[Launch]]:
    """One call of a row, with the arguments of ``calls.collective``."""
    n, dtype = machine.n_pes, rng.choice(("float32", "float16"))
    row_elems, n_rows = rng.choice((1, 7, 16, 48, 100, 160)), 1 + int(rng.random() ** 2 * 8)
    count = n_rows * row_elems
    limits = replace(limits, row_elems=row_elems)
    plan = small_plan(machine, row, count, dtype, limits, rng)
    x, (rest, scale) = values(rng, n, count, dtype), values(rng, 2, count, dtype)
    total = (sum(one.astype(np.float32) for one in x) + rest).astype(rest.dtype)
    result = normalised(total.reshape(n_rows, row_elems), scale[:row_elems], EPS).ravel()
    words = f"{table} of {n_rows} x {row_elems} {dtype}, by {row.name}, {plan}, plan {plan_number}"
    in_place, streams = rng.random() < 0.4, []
    for pe in range(n):
        held, (src, out, residual, weight) = Held(), arrays.draw(rng, 4)
        out = src if in_place else out
        held.give(src, 0, x[pe])
        held.give(residual, 0, rest)
        held.give(weight, 0, scale[:row_elems])
        held.expect(residual, 0, total)
        held.expect(out, 0, result)
        args: dict[str, Any] = {"out": out, "src": src, "residual": residual, "weight": weight, "n_elems": count}
        args |= {"row_elems": row_elems, "share_elems": plan.share_elems, "eps_bits": EPS_BITS}
        what = f"call {number} ({table} by {row.name}, {n_rows} x {row_elems} {dtype}, {plan})"
        one = launch(machine, what, row, workspace, plan, limits, dtype, pe, words, **args)
        one.begin, one.end = held.begin(arrays, pe), held.end(arrays, pe)
        streams.append([one])
    return streams
