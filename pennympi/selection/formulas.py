"""The work of each AllReduce algorithm in messages and bytes: one formula for each row of its table.

``cost.py`` turns these counts into microseconds.
"""

import math
from dataclasses import dataclass, fields, replace
from functools import cache
from types import CodeType
from typing import Any

SYMBOLS = {
    "S": "bytes of the vector",
    "n": "PEs",
    "N": "nodes",
    "M": "PEs of the largest node",
    "R": "rails (NICs of a node)",
    "p": "the largest power of two up to n",
    "h": "n / 2, rounded up",
    "w": "bytes of a partial result / bytes of an element (2 for 16-bit floats, else 1)",
    "log2, ceil": "logarithm to base two; rounding up",
}


@dataclass(frozen=True)
class Formula:
    """Counts for one call, as Python expressions over ``SYMBOLS``.

    near_hops, net_hops: messages of a round that wait for one another, inside nodes and between nodes
    messages: that a PE sends in a round
    sent:     bytes that a PE sends inside its node;  nic: bytes that the busiest NIC sends
    moved, added: bytes that a PE copies, and that it reduces, in its own memory
    span:     pieces of the vector that one block handles in a round
    signals:  that a PE sends in a round as messages of their own
    packets:  the messages are packets;  overlaps: a round begins before the previous one has ended
    """

    near_hops: str
    net_hops: str
    messages: str
    sent: str
    nic: str
    moved: str
    added: str
    span: str
    signals: str = "0"
    packets: bool = False
    overlaps: bool = False

    def counts(self, values: dict[str, Any]) -> dict[str, float]:
        """{field: its value} for the values of the symbols."""
        scope = {"__builtins__": {}, "log2": math.log2, "ceil": math.ceil, "min": min, "max": max}
        return {name: float(eval(code, scope, values)) for name, code in _codes(self).items()}


COUNTED = [one.name for one in fields(Formula) if one.name not in ("packets", "overlaps")]


@cache
def _codes(formula: Formula) -> dict[str, CodeType]:
    return {name: compile(getattr(formula, name), f"<{name}>", "eval") for name in COUNTED}


def _to_all(nbytes: str) -> dict[str, str]:
    """``sent`` and ``nic`` of a PE that sends ``nbytes`` bytes, an expression, to every other PE."""
    return {"sent": f"(M - 1) * {nbytes}", "nic": f"(n - M) * {nbytes} * M / R"}


def _ring(nic: str) -> Formula:
    return Formula(
        near_hops="2 * (n - 1) * (n - N * (N > 1)) / n",
        net_hops="2 * (n - 1) * N * (N > 1) / n",
        messages="2 * (n - 1)",
        sent="(1 + w) * (n - 1) / n * S",
        nic=nic,
        moved="(n + 1) / n * S",
        added="(n - 1) / n * S",
        span="n",
    )


def _shots(shots: int, packets: bool, overlaps: bool) -> Formula:
    one = shots == 1
    return Formula(
        near_hops=f"{shots} * (N == 1)",
        net_hops=f"{shots} * (N > 1)",
        messages=f"{shots} * (n - 1)",
        **_to_all("S" if one else "2 * S / n"),
        moved="0" if one else "(n - 1) / n * S",
        added="(n - 1) * S" if one else "(n - 1) / n * S",
        span="1" if one else "n",
        signals="0" if packets else f"{shots} * (n - 1)",
        packets=packets,
        overlaps=overlaps,
    )


FORMULAS = {
    "ring": _ring("(1 + w) * (n - 1) / n * S * (N > 1)"),
    "multi_ring": _ring("(1 + w) * (n - 1) / n * S / R * (N > 1)"),
    "simple_ring": Formula(
        near_hops="2 * (n - 1) * (n - N * (N > 1)) / n",
        net_hops="2 * (n - 1) * N * (N > 1) / n",
        messages="2",
        sent="(1 + w) * (n - 1) * S * (n - N * (N > 1)) / n",
        nic="(1 + w) * (N - (1 + (M == 1)) / 2) * S * (N > 1)",  # of crossings that wait for one another
        moved="S",
        added="(n - 1) * S",
        span="1",
    ),
    "one_shot": _shots(1, packets=False, overlaps=True),
    "one_shot_packets": _shots(1, packets=True, overlaps=True),
    "two_shot": _shots(2, packets=False, overlaps=True),
    "two_shot_packets": _shots(2, packets=True, overlaps=False),
    "half_butterfly": Formula(
        near_hops="2 - (N > 1) - (h > M)",
        net_hops="(N > 1) + (h > M)",
        messages="h",
        sent="(min(h, M) - 1 + w * (N == 1)) * S",
        nic="(max(h - M, 0) + w) * (N > 1) * S * M / R",
        moved="S",
        added="h * S",
        span="1",
    ),
    "halving_doubling": Formula(
        near_hops="2 * log2(max(1, p / N)) + 2 * (p < n)",
        net_hops="2 * log2(min(p, N))",
        messages="2 * log2(p) + (p < n)",
        sent="(1 + w) * max(0, 1 / N - 1 / p) * S + 2 * S * (p < n)",
        nic="(1 + w) * (1 - 1 / N) * S * M / R",
        moved="2 * S",
        added="(p - 1) / p * S + S * (p < n)",
        span="p",
    ),
    "recursive_doubling": Formula(
        near_hops="log2(max(1, p / N)) + 2 * (p < n)",
        net_hops="log2(min(p, N))",
        messages="log2(p) + (p < n)",
        sent="w * log2(max(1, p / N)) * S + 2 * S * (p < n)",
        nic="w * log2(min(p, N)) * S * M / R",
        moved="S",
        added="log2(p) * S + S * (p < n)",
        span="1",
    ),
    "hierarchical": Formula(
        near_hops="2",
        net_hops="2",
        messages="2 * (M - 1) + 2 * (N - 1)",
        sent="2 * (M - 1) / M * S",
        nic="(1 + w) * (N - 1) / (N * M) * S * M / R",
        moved="(M + 1) / M * S",
        added="((M - 1) / M + (N - 1) / (N * M)) * S",
        span="n",
    ),
    "hierarchical_packets": Formula(
        near_hops="2",
        net_hops="1",
        messages="2 * (M - 1) + N - 1",
        sent="2 * (M - 1) / M * S",
        nic="w * (N - 1) / M * S * M / R",
        moved="(M + 1) / M * S",
        added="((M - 1) / M + (N - 1) / M) * S",
        span="M",
        packets=True,
    ),
    "tree": Formula(
        near_hops="2 * ceil(log2(M))",
        net_hops="2 * ceil(log2(N))",
        messages="4",
        sent="(1 + w) * S",
        nic="(1 + w) * min(N, 3) / (2 + 2 * (R == M)) * S * (N > 1)",
        moved="1.5 * S",
        added="S",
        span="2",
        overlaps=True,
    ),
    "nvls": Formula(
        near_hops="2",
        net_hops="0",
        messages="2",
        sent="(1 + 1 / n) * S",
        nic="0",
        moved="2 * S",
        added="S",  # on a CPU; a switch reduces while it moves
        span="n",
    ),
    "two_shot_direct": replace(_shots(2, packets=False, overlaps=True), moved="0"),
    "two_shot_copied": replace(_shots(2, packets=False, overlaps=True), near_hops="3 * (N == 1)", moved="0"),
}
