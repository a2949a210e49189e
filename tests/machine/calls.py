"""Random calls of the collectives, and their right results."""

import numpy as np
from greenlet import getcurrent

from pennympi.kernels.algorithm import Algorithm
from pennympi.simulator.launches import Launch

from .arrays import Held, values
from .by_counts import BY_COUNTS, by_counts
from .launching import DTYPES
from .team import Team, prepared


def collective(team: Team, table: str, algorithm: Algorithm, number: int, plan_number: int = 0) -> list[list[Launch]]:
    """One call of an algorithm with random arguments: the launches in the stream of each PE.

    plan_number: only part of the call's description
    """
    if table in BY_COUNTS:
        return by_counts(team, table, algorithm, number, plan_number)
    rng, arrays, topology = team.rng, team.arrays, team.topology
    n, reduces = team.n, "reduce" in table
    dtypes = [d for d in DTYPES if d != "byte" and not algorithm.why_not(topology, d, "sum")] if reduces else ["byte"]
    dtype = rng.choice(dtypes)
    item = DTYPES[dtype][0].itemsize
    count = 1 + int(rng.random() ** 2 * 700) if reduces else 8 * (1 + int(rng.random() ** 2 * 300))
    plan = team.small_plan(algorithm, count, dtype)
    root, with_residual = rng.randrange(n), algorithm.residual and rng.random() < 0.4
    parts = n if table in ("reduce_scatter", "all_to_all") else 1
    x = values(rng, n, parts * count, dtype)
    result = sum(one.astype(DTYPES[dtype][1]) for one in x)
    words = f"{table} of {count} {dtype}, by {algorithm.name}, root {root}, {with_residual}, {plan}, plan {plan_number}"
    shared_out, in_place = rng.choice(arrays.symmetric), rng.random() < 0.4
    streams = []
    for pe in range(n):
        held, (src_at, out_at, rest_at) = Held(), arrays.draw(rng, 3)
        low, high = pe * count, (pe + 1) * count
        src, out, args = src_at, out_at, {}
        if "planned" in table:
            out_at = out = shared_out
            src_at = src = shared_out if in_place else next(a for a in arrays.symmetric if a != out)
        if table == "broadcast":
            out_at = out = src
            held.give(src, 0, x[pe])
            held.expect(out, 0, x[root])
        elif table == "all_gather":
            if in_place:
                src_at, src = out_at, out_at + low * item
            held.give(src_at, src - src_at, x[pe])
            held.expect(out_at, 0, np.concatenate(x))
        elif table == "all_to_all":
            out_at = out = src if in_place else out
            held.give(src, 0, x[pe])
            held.expect(out, 0, np.concatenate([one[low:high] for one in x]))
        elif table == "reduce_scatter":
            if in_place:
                out_at, out = src_at, src + low * item
            held.give(src, 0, x[pe])
            held.expect(out_at, out - out_at, result[low:high].astype(x[0].dtype))
        else:
            out_at = out = src if in_place or (table == "reduce" and pe != root) else out
            held.give(src, 0, x[pe])
            if with_residual:
                rest = values(rng, 1, count, dtype)[0]
                args["residual"] = out_at if not in_place and rng.random() < 0.3 else rest_at
                held.give(args["residual"], 0, rest)
            if table != "reduce" or pe == root:
                total = result + rest if with_residual else result
                held.expect(out, 0, total.astype(x[0].dtype))
        out_is_symmetric = int(
            not team.machine.memory.is_plain(pe, out_at) and (table != "all_to_all" or out_at != src_at)
        )
        args |= {"out": out, "src": src, "n_elems": count, "root": root, "out_is_symmetric": out_is_symmetric}
        what = f"call {number} ({table} by {algorithm.name}, {count} {dtype}, {plan.blocks} x {plan.piece_elems})"
        first = team.launch(what, algorithm, plan, dtype, pe, words, **args)
        stream = [first, *copies(team, algorithm, first, out, count, item, pe)]
        stream[0].begin, stream[-1].end = held.begin(arrays, pe), held.end(arrays, pe)
        streams.append(stream)
    return streams


def copies(team: Team, algorithm: Algorithm, first: Launch, out: int, count: int, item: int, me: int) -> list[Launch]:
    """The launches that follow where the copy engines spread the chunks."""
    if algorithm.copied is None or algorithm.meet is None:
        return []
    n, chunk = team.n, algorithm.copied(count, team.n)
    low, nbytes = out + me * chunk * item, max(0, min(chunk, count - me * chunk)) * item

    def copy_to(pe: int) -> None:
        block = getcurrent()
        block.network.put(block, low, low, nbytes, pe)

    engine = [Launch(f"{first.what}, copy", copy_to, ((me + k) % n,)) for k in range(1, n) if nbytes]
    known = first.known | {"buffer_bytes": 0}
    return [*engine, prepared(f"{first.what}, meet", algorithm.meet, 1, "int64", known)]
