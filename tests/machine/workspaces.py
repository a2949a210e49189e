"""A row's workspace, plan and arguments, as ``pennympi/collectives/base.py`` makes them."""

from dataclasses import replace
from random import Random
from typing import Any

from pennympi.compile.bind import parameters
from pennympi.job.control import signature_of
from pennympi.kernels.algorithm import VECTOR_ELEMS, Algorithm, Limits, Plan
from pennympi.kernels.block import EPOCH_BITS

from .bodies import bound
from .device import DTYPES, Launch, Machine

FIRST_EPOCHS = (0, 7)


class Workspace:
    """Where the calls of one row go.  Made before anything runs, so that nobody meets."""

    def __init__(self, machine: Machine, row: Algorithm, limits: Limits):
        memory, blocks = machine.memory, limits.max_blocks
        first = machine.rng.choice(FIRST_EPOCHS)
        nbytes, words = blocks * 2 * limits.buffer_bytes, blocks * row.signals(machine.place)
        self.at = {
            "inbox": memory.allocate(nbytes),
            "outbox": memory.allocate(nbytes),
            "signals": memory.allocate(8 * words),
            "epochs": memory.allocate(8 * blocks),
            "routes": 0,
        }
        self.name = f"workspace at {self.at['inbox']}"
        for pe in range(machine.n_pes):
            fill(machine, pe, self.at["signals"], [first] * words)
            fill(machine, pe, self.at["epochs"], [first] * blocks)
        if row.routes:
            routes = [row.routes(machine.place, pe) for pe in range(machine.n_pes)]
            self.at["routes"] = memory.allocate(8 * max(1, len(routes[0])))
            for pe, one in enumerate(routes):
                fill(machine, pe, self.at["routes"], one)


def fill(machine: Machine, pe: int, address: int, values: Any) -> None:
    """Words of a PE's memory."""
    for k, value in enumerate(values):
        machine.memory.words[pe][(address >> 3) + k] = value


def small_plan(machine: Machine, row: Algorithm, count: int, dtype: str, limits: Limits, rng: Random) -> Plan:
    """The row's plan for this count or a larger one, for more blocks, with pieces that may be cut smaller."""
    item, partial = DTYPES[dtype]
    plan = row.plan(count * rng.choice((1, 8, 1000)), item.itemsize, partial.itemsize, machine.place, limits)
    piece = plan.piece_elems
    if rng.random() < 0.8:
        piece = rng.choice([e for e in (VECTOR_ELEMS, 2 * VECTOR_ELEMS, 3 * VECTOR_ELEMS) if e <= piece] or [piece])
    return replace(plan, piece_elems=piece)


def launch(
    machine: Machine,
    what: str,
    row: Algorithm,
    workspace: Workspace,
    plan: Plan,
    limits: Limits,
    dtype: str,
    pe: int,
    words: str,
    **call: int,
) -> Launch:
    """The launch of a row's kernel on PE ``pe``.  words: that describe the call;  call: the arguments that it gives."""
    item, partial = DTYPES[dtype]
    known = {
        **workspace.at,
        "ctx": pe,
        "me": pe,
        "n_pes": machine.n_pes,
        "item_bytes": item.itemsize,
        "acc_bytes": partial.itemsize,
        "piece_elems": plan.piece_elems,
        "buffer_bytes": limits.buffer_bytes,
        **{"residual": 0, "root": 0, "reach": 0, "signature": signature_of(words) << EPOCH_BITS},
        **call,
    }
    known |= {
        "nbytes": known["n_elems"] * item.itemsize,
        "piece_bytes": plan.piece_elems * item.itemsize,
    }
    args = [known[name] for name in parameters(row.kernel)]
    return Launch(what, bound(row.kernel), args, plan.blocks, dtype, workspace=workspace.name)
