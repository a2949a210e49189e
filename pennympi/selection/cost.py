"""The cost of an algorithm by an alpha-beta-gamma model.

Every row of an algorithm table has a formula (``formulas.py``) that counts the messages that wait for one another, the
bytes that a PE sends, and so on.  The constants of a machine (``machine.py``) turn these counts into microseconds.
``python -m pennympi.selection.cost`` prints docs/cost-model.md.

The model is Hockney's alpha and beta, with gamma for the arithmetic, as in Thakur, Rabenseifner and Gropp (2005), and
a cost for each message as in LogP.
"""

import math
from dataclasses import fields
from typing import Any

from ..kernels.algorithm import Algorithm, Limits, Place
from .formulas import COUNTED, FORMULAS, SYMBOLS
from .machine import NVLINK, PCIE, Machine, host


def values_of(place: Place, item_bytes: int, acc_bytes: int, nbytes: int) -> dict[str, Any]:
    """The values of ``formulas.SYMBOLS`` for a vector of ``nbytes`` bytes."""
    n = place.n_pes
    sizes = [len(pes) for pes in place.nodes]
    return {
        "S": nbytes,
        "n": n,
        "N": len(sizes),
        "M": max(sizes),
        "R": len(set(place.rails)),
        "p": 1 << (n.bit_length() - 1),
        "h": (n + 1) // 2,
        "w": acc_bytes // item_bytes,
    }


def predict(
    row: Algorithm, count: int, item_bytes: int, acc_bytes: int, place: Place, limits: Limits, machine: Machine
) -> float | None:
    """Microseconds of one call on ``count`` elements, or None for an algorithm without a formula."""
    formula = FORMULAS.get(row.name)
    if formula is None:
        return None
    counts = formula.counts(values_of(place, item_bytes, acc_bytes, count * item_bytes))
    plan = row.plan(count, item_bytes, acc_bytes, place, limits)
    rounds = math.ceil(count / (plan.blocks * plan.piece_elems * counts["span"]))
    hop_us, gb_s = (
        (machine.packet_hop_us, machine.packet_gb_s) if formula.packets else (machine.hop_us, machine.sent_gb_s)
    )
    return (
        machine.launch_us
        + (1 if formula.overlaps else rounds) * (counts["near_hops"] * hop_us + counts["net_hops"] * machine.net_hop_us)
        + rounds * (counts["messages"] * machine.message_us + counts["signals"] * machine.signal_us)
        + (counts["sent"] / gb_s + counts["nic"] / machine.nic_gb_s) / 1e3
        + (counts["moved"] / machine.moved_gb_s + counts["added"] / machine.added_gb_s) / 1e3
    )


def page() -> str:
    """docs/cost-model.md, as Markdown."""
    lines = [
        "# Cost model",
        "",
        "Made by `python -m pennympi.selection.cost` from `formulas.py` and `machine.py` in `pennympi/selection/`.",
        "The library uses it on machines on which `python -m pennympi tune` has not run, and for predictions.",
        "",
        "A call takes",
        "",
        "    launch_us + rounds * (near_hops * hop_us + net_hops * net_hop_us)",
        "        + rounds * (messages * message_us + signals * signal_us)",
        "        + sent / sent_gb_s + nic / nic_gb_s + moved / moved_gb_s + added / added_gb_s",
        "",
        "`rounds` is the number of rounds of each block of the algorithm's plan: bytes / (blocks * piece * span).",
        "If a round begins before the previous one has ended, the hops count once (marked o).",
        "Packets have constants of their own (marked p).",
        "",
        *(f"- `{name}`: {meaning}" for name, meaning in SYMBOLS.items()),
        "",
        "| algorithm | " + " | ".join(COUNTED) + " | |",
        "|---" * (len(COUNTED) + 2) + "|",
    ]
    for name, one in FORMULAS.items():
        marks = " ".join(word for word, has in (("p", one.packets), ("o", one.overlaps)) if has)
        lines.append(f"| {name} | " + " | ".join(f"`{getattr(one, key)}`" for key in COUNTED) + f" | {marks} |")
    lines += ["", "## Constants", ""]
    shown = [one.name for one in fields(Machine) if one.name not in ("name", "source", "shared_out")]
    kinds = (NVLINK, PCIE, host(2, 2), host(4, 2))
    lines += ["| | " + " | ".join(one.name for one in kinds) + " |", "|---" * (len(kinds) + 1) + "|"]
    lines += [f"| {key} | " + " | ".join(f"{getattr(one, key):.4g}" for one in kinds) + " |" for key in shown]
    lines += ["", *(f"- {one.name}: {one.source}." for one in kinds[:3])]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(page(), end="")
