"""Exchanges of halos, as ``pennympi/grid/exchange.py`` launches them; what is read of a halo stays until it is read."""

import math
from collections.abc import Callable
from random import Random
from types import FunctionType
from typing import Any

import numpy as np
from greenlet import getcurrent
from halo_reference import own_part, with_halos

from pennympi.grid.decomposition import Decomposition, factorings
from pennympi.grid.layout import layout_of
from pennympi.grid.messages import Field, Messages, Ways, messages_of
from pennympi.kernels.halo import exchange
from pennympi.kernels.halo.message import PART_WORDS

from .arrays import must_be
from .device import Launch, Machine
from .team import allocated, fill, prepared, tagged, words

UNTOUCHED = 77
DIRECT_FROM_BYTES = (0, 40, 1 << 30)
DIRECT_FROM_LINE_BYTES = (0, 16)


def decomposition(rng: Random, n_pes: int) -> Decomposition:
    """A small grid, cut in any way that leaves each PE as many points as the halo takes."""
    n = rng.randint(1, 3)
    dims = rng.choice(list(factorings(n_pes, [0] * n)))
    halo = tuple(rng.randint(0, 2) for _ in dims)
    shape = tuple(p * max(1, h) + rng.randint(0, 3) for p, h in zip(dims, halo, strict=True))
    pes = tuple(rng.sample(range(n_pes), n_pes))
    return Decomposition(shape, dims, tuple(rng.random() < 0.5 for _ in dims), halo, pes)


class Halos:
    """Fields over all PEs, and the launches of one plan."""

    def __init__(self, machine: Machine, rng: Random):
        self.machine, self.grid, memory = machine, decomposition(rng, machine.n_pes), machine.memory
        self.corners = rng.random() < 0.5
        self.dtypes = [np.dtype(rng.choice(("uint8", "int64", "float32"))) for _ in range(rng.randint(1, 2))]
        self.fields = []
        for dtype in self.dtypes:
            layout = layout_of(self.grid, 0, dtype.itemsize)
            start = memory.allocate(layout.number * dtype.itemsize) + layout.first * dtype.itemsize
            self.fields.append(Field(start, dtype.itemsize))
        by_pointer = [[machine.network.by_pointer(p, q) for q in range(machine.n_pes)] for p in range(machine.n_pes)]
        ways = Ways(by_pointer, rng.choice(DIRECT_FROM_BYTES), rng.choice(DIRECT_FROM_LINE_BYTES))
        self.of = [messages_of(self.grid, pe, self.fields, self.corners, ways) for pe in range(machine.n_pes)]
        self.pieces, packed_bytes = rng.randint(1, 3), self.of[0].packed_bytes
        n_parts = self.of[0].n_numbers * self.pieces
        self.at = allocated(machine, 2 * packed_bytes, packed_bytes, PART_WORDS * n_parts, n_parts)
        self.at["messages"] = words(machine, len(self.of[0].words), 0)
        for pe, one in enumerate(self.of):
            fill(machine, pe, self.at["messages"], one.words)
            for which in range(len(self.fields)):
                self.array(pe, which)[...] = UNTOUCHED

    def array(self, pe: int, which: int) -> np.ndarray:
        """A PE's part of a field, with its halo."""
        address, item_bytes = self.fields[which]
        layout = layout_of(self.grid, pe, item_bytes)
        n = math.prod(layout.stored)
        rows = self.machine.memory.elements(pe, address, n, self.dtypes[which]).reshape(layout.stored)
        return rows[..., : layout.shape[-1]]

    def points(self, which: int, k: int) -> np.ndarray:
        """The whole grid in round k."""
        return np.random.default_rng(1000 * which + k).integers(0, 70, self.grid.shape).astype(self.dtypes[which])

    def write(self, pe: int, k: int) -> Callable[[], None]:
        """What sets the own points of a PE."""

        def at_once() -> None:
            whole, inner = own_part(self.grid, pe)
            for which in range(len(self.fields)):
                self.array(pe, which)[inner] = self.points(which, k)[whole]

        return at_once

    def read(self, pe: int, k: int) -> None:
        """A kernel of the user's, which reads the fields for some time."""
        block: Any = getcurrent()
        for _ in range(4):
            for which in range(len(self.fields)):
                right = with_halos(self.grid, pe, self.points(which, k), self.corners, UNTOUCHED)
                must_be(self.array(pe, which).reshape(-1), right.reshape(-1))
            block.pause()

    def launch(self, pe: int, k: int, blocks: int) -> Launch:
        """The exchange of round k, once the own points are set."""
        of: Messages = self.of[pe]
        known = {
            **{"ctx": pe, "me": pe, "n_messages": of.n_messages, "pieces": self.pieces, "inbox_bytes": of.packed_bytes},
            **{f"{record}_{name}": at for name, at in self.at.items() for record in ("halo", "work")},
            **{"messages": self.at["messages"], "peer_table": 0, "buffer_bytes": of.packed_bytes},
            "signature": tagged(f"halos of {self.grid}"),
        }
        kernel = exchange.exchange_halos
        clone = FunctionType(kernel.__code__, kernel.__globals__, kernel.__name__)  # bound anew, with planted faults
        clone.__annotations__ = kernel.__annotations__
        launch = prepared(f"exchange {k}", clone, blocks, "byte", known)
        launch.begin = self.write(pe, k)
        return launch


def exchanged(machine: Machine, rng: Random) -> list[Callable[[], None]]:
    """Rounds of: set the own points, exchange, read."""
    halos, rounds = Halos(machine, rng), rng.randint(3, 8)
    for k in range(rounds):
        for pe in machine.pes:
            parts = min(halos.of[pe.me].n_messages * halos.pieces, pe.slots)  # all blocks of an exchange run at once
            exchange = [halos.launch(pe.me, k, rng.choice((parts, rng.randint(1, parts))))] if parts else []
            begin = None if parts else halos.write(pe.me, k)
            pe.issue([*exchange, Launch(f"read {k}", halos.read, (pe.me, k), begin=begin)])
    return []


HALOS = {"exchange_halos": exchanged}
