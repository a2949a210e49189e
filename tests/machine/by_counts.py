"""Random calls of the collectives whose parts have any length."""

from collections.abc import Callable
from random import Random

import numpy as np
from parts import end_of, starts_of

from pennympi.kernels.algorithm import Algorithm
from pennympi.simulator.device import Machine
from pennympi.simulator.launches import Launch

from .arrays import Held, values
from .launching import DTYPES
from .team import Team, fill

BY_COUNTS = ("all_gatherv", "reduce_scatterv", "all_to_allv")
Counts = list[list[int]]  # [i][j]: elements that PE i has for PE j


def drawn(table: str, rng: Random, n: int) -> Counts:
    """Random counts: equal ones, zeros, all to one PE, or any."""
    most = rng.choice((1, 20, 120))
    kind = rng.choice(("any", "any", "many zeros", "one PE", "equal"))
    one = rng.randrange(n)
    counts = [[rng.randint(0, most) for _ in range(n)] for _ in range(n)]
    for i in range(n):
        for j in range(n):
            if (kind == "many zeros" and rng.random() < 0.7) or (kind == "one PE" and j != one):
                counts[i][j] = 0
            if kind == "equal":
                counts[i][j] = most
    if table == "all_gatherv":
        return [[one[0]] * n for one in counts]
    return [counts[0]] * n if table == "reduce_scatterv" else counts


class Words:
    """Counts and starts on a PE's device, which are overwritten when the call has ended."""

    def __init__(self, machine: Machine, pe: int):
        self._machine, self._pe, self._held = machine, pe, list[tuple[int, list[int]]]()

    def address(self, values: list[int]) -> int:
        at = self._machine.memory.allocate(8 * len(values), plain=True)
        self._held.append((at, values))
        return at

    def set(self) -> None:
        for at, numbers in self._held:
            fill(self._machine, self._pe, at, numbers)

    def scribble(self) -> None:
        for at, numbers in self._held:
            fill(self._machine, self._pe, at, [-1] * len(numbers))


def by_counts(
    team: Team,
    table: str,
    algorithm: Algorithm,
    number: int,
    plan_number: int = 0,
    wrong: dict[int, Callable[[Counts], Counts]] | None = None,
    lacks: dict[int, int] | None = None,
) -> list[list[Launch]]:
    """One call.  By PE: wrong: (right counts) -> wrong counts;  lacks: elements by which the PE's out is too small"""
    rng, arrays, n, reduces = team.rng, team.arrays, team.n, table == "reduce_scatterv"
    dtype = rng.choice([name for name in DTYPES if name != "byte"]) if reduces else "byte"
    item = DTYPES[dtype][0].itemsize
    elem = item if reduces else rng.choice((1, 2, 8, 16))
    right, packed, in_place = drawn(table, rng, n), rng.random() < 0.5, rng.random() < 0.4
    if table == "all_to_allv" and in_place:  # two PEs swap parts of one length
        right = [[right[min(i, j)][max(i, j)] for j in range(n)] for i in range(n)]
    plan = team.small_plan(algorithm, rng.choice((0, 0, 40)), dtype)
    words = f"{table} of parts of {dtype} x {elem}, by {algorithm.name}, plan {plan_number}"
    x = values(rng, n, sum(right[0]), dtype)
    data = [[np.frombuffer(rng.randbytes(elem * count), np.uint8) for count in one] for one in right]
    streams = []
    for pe in range(n):
        counts = wrong[pe](right) if wrong and pe in wrong else right
        held, device, (src, out) = Held(), Words(team.machine, pe), arrays.draw(rng, 2)
        sent, taken = counts[pe], [one[pe] for one in counts]
        if table == "all_gatherv":
            sent = taken
        elif reduces:
            taken = sent
        elif table == "all_to_allv" and in_place:
            sent = taken = [s if s != right[pe][j] else t for j, (s, t) in enumerate(zip(sent, taken, strict=True))]
        sends, takes = starts_of(sent, rng, packed or reduces), starts_of(taken, rng, packed)
        at_start = [0] * n  # the starts in an array that is one part
        if reduces:
            takes = at_start
        elif table == "all_gatherv" and not in_place:
            sends = at_start
        elif table == "all_gatherv" or in_place:
            sends = takes
        if table == "all_to_allv":
            src = out if in_place else src
            for j in range(n):
                held.give(src, sends[j] * elem, data[pe][j][: sent[j] * elem])
                held.expect(out, takes[j] * elem, data[j][pe][: taken[j] * elem])
            src_elems, out_elems = end_of(sends, sent), end_of(takes, taken)
        elif reduces:
            held.give(src, 0, x[pe])
            low, high = sends[pe], sends[pe] + sent[pe]
            total = sum(one.astype(DTYPES[dtype][1]) for one in x)[low:high].astype(x[0].dtype)
            at = src + low * elem if in_place else out
            held.expect(src if in_place else out, at - (src if in_place else out), total)
            out, src_elems, out_elems = at, sum(sent), sent[pe]
        else:
            held.give(out if in_place else src, takes[pe] * elem if in_place else 0, data[pe][pe])
            for j in range(n):
                held.expect(out, takes[j] * elem, data[j][j][: taken[j] * elem])
            src_elems, out_elems = taken[pe], end_of(takes, taken)
            if in_place:
                src, src_elems = out, out_elems
        packed_too = packed and rng.random() < 0.5  # the kernel then adds up the starts
        args = {
            "out": out, "src": src, "src_elems": src_elems, "elem_bytes": elem, "n_elems": 0,
            "out_elems": out_elems - (lacks or {}).get(pe, 0),
            "send_counts": device.address(sent), "receive_counts": device.address(taken),
            "send_starts": 0 if packed_too and sends is not at_start else device.address(sends),
            "receive_starts": 0 if packed_too and takes is not at_start else device.address(takes),
        }  # fmt: skip
        what = f"call {number} ({table} by {algorithm.name}, {right}, {elem} bytes, {plan.blocks} x {plan.piece_elems})"
        one = team.launch(what, algorithm, plan, dtype, pe, words, **args)
        begin, end = held.begin(arrays, pe), held.end(arrays, pe)
        one.begin = lambda begin=begin, device=device: (begin(), device.set())
        one.end = lambda end=end, device=device: (end(), device.scribble())
        streams.append([one])
    return streams
