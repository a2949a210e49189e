"""Exchanges of halos, as ``stencil/grid/exchange.py`` launches them; no halo changes while a kernel reads it."""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from random import Random
from typing import Any

import numpy as np
from greenlet import getcurrent
from halo_reference import own_part, with_halos

from pennympi.arrays.array_view import ArrayView
from pennympi.arrays.dtypes import dtype_of
from pennympi.kernels.halo import exchange
from pennympi.kernels.halo.message import SIGNAL_WORDS
from pennympi.kernels.records import Halo, Work
from pennympi.simulator.device import Machine
from pennympi.simulator.launches import Launch
from pennympi.stencil.grid.decomposition import Decomposition, factorings
from pennympi.stencil.grid.layout import layout_of
from pennympi.stencil.grid.messages import Ways, messages_of

from .arrays import must_be
from .launching import KernelLaunch
from .team import allocated, fill, tagged, words

UNTOUCHED = 77
DIRECT_FROM_BYTES = (0, 40, 1 << 30)
DIRECT_FROM_LINE_BYTES = (0, 16)


def decomposition(rng: Random, n_pes: int) -> Decomposition:
    """A small random grid, in which each PE has as many points as the halo takes."""
    n = rng.randint(1, 3)
    dims = rng.choice(list(factorings(n_pes, [0] * n)))
    halo = tuple(rng.randint(0, 2) for _ in dims)
    shape = tuple(p * max(1, h) + rng.randint(0, 3) for p, h in zip(dims, halo, strict=True))
    pes = tuple(rng.sample(range(n_pes), n_pes))
    return Decomposition(shape, dims, tuple(rng.random() < 0.5 for _ in dims), halo, pes)


def array_of(machine: Machine, grid: Decomposition, pe: int, address: int, dtype: np.dtype) -> np.ndarray:
    """PE ``pe``'s part, with its halo, of the field whose first element is at an address."""
    layout = layout_of(grid, pe, dtype.itemsize)
    rows = machine.memory.elements(pe, address, math.prod(layout.stored), dtype).reshape(layout.stored)
    return rows[..., : layout.shape[-1]]


def new_field(machine: Machine, grid: Decomposition, dtype: Any) -> ArrayView:
    element = dtype_of(dtype)
    layout = layout_of(grid, 0, element.item_bytes)
    start = machine.memory.allocate(layout.number * element.item_bytes) + layout.first * element.item_bytes
    return ArrayView(start, 0, element, None)


def halos_of(machine: Machine, rng: Random, grid: Decomposition, fields: list[ArrayView], corners: bool) -> list[Halo]:
    """An exchange of fields, for each PE."""
    n = machine.n_pes
    by_pointer = [[machine.network.by_pointer(p, q) for q in range(n)] for p in range(n)]
    topology = replace(machine.topology, packets=rng.random() < 0.7)
    ways = Ways(by_pointer, topology, rng.choice(DIRECT_FROM_BYTES), rng.choice(DIRECT_FROM_LINE_BYTES))
    of = [messages_of(grid, pe, fields, corners, ways) for pe in range(n)]
    pieces, sent_pieces, inbox_bytes = rng.randint(1, 3), rng.randint(1, 5), of[0].inbox_bytes
    parts = [one.parts(pieces, sent_pieces) for one in of]
    at = allocated(machine, 2 * inbox_bytes, inbox_bytes, SIGNAL_WORDS * of[0].n_numbers * pieces, parts[0].most_rows)
    table = words(machine, len(parts[0].words), 0)
    for pe, of_pe in enumerate(parts):
        fill(machine, pe, table, of_pe.words)
    work = (at["inbox"], at["outbox"], at["signals"], at["epochs"], inbox_bytes)
    return [Halo(pe, table, *of_pe.counts, *work) for pe, of_pe in enumerate(parts)]


class Halos:
    """Fields over all PEs, and the launches of one plan."""

    def __init__(self, machine: Machine, rng: Random):
        self.machine, self.grid, self.corners = machine, decomposition(rng, machine.n_pes), rng.random() < 0.5
        self.dtypes = [np.dtype(rng.choice(("uint8", "int64", "float32"))) for _ in range(rng.randint(1, 2))]
        self.fields = [new_field(machine, self.grid, dtype) for dtype in self.dtypes]
        self.of = halos_of(machine, rng, self.grid, self.fields, self.corners)
        for pe in range(machine.n_pes):
            for which in range(len(self.fields)):
                self.array(pe, which)[...] = UNTOUCHED

    def array(self, pe: int, which: int) -> np.ndarray:
        """A PE's part of a field, with its halo."""
        return array_of(self.machine, self.grid, pe, self.fields[which].address, self.dtypes[which])

    def points(self, which: int, k: int) -> np.ndarray:
        """The whole grid in round k."""
        return np.random.default_rng(1000 * which + k).integers(0, 70, self.grid.shape).astype(self.dtypes[which])

    def write(self, pe: int, k: int) -> None:
        whole, inner = own_part(self.grid, pe)
        for which in range(len(self.fields)):
            self.array(pe, which)[inner] = self.points(which, k)[whole]

    def read(self, pe: int, k: int) -> None:
        """A user's kernel, which reads the fields for some time."""
        block: Any = getcurrent()
        for _ in range(4):
            for which in range(len(self.fields)):
                right = with_halos(self.grid, pe, self.points(which, k), self.corners, UNTOUCHED)
                must_be(self.array(pe, which).reshape(-1), right.reshape(-1))
            block.pause()


def exchanged(machine: Machine, rng: Random) -> list[Callable[[], None]]:
    """Rounds of: set the own points, exchange, read."""
    halos, rounds = Halos(machine, rng), rng.randint(3, 8)
    tag = tagged(f"halos of {halos.grid}")
    for k in range(rounds):
        for pe in machine.pes:
            halo, write = halos.of[pe.me], partial(halos.write, pe.me, k)
            work = Work(halo.inbox, halo.outbox, halo.signals, halo.epochs, 0, halo.inbox_bytes, tag)
            parts = min(max(halo.n_received, halo.n_sent), pe.slots)  # all blocks of an exchange run at once
            if parts:
                blocks = rng.choice((parts, rng.randint(1, parts)))
                args = pe.me, halo, work
                pe.launches.append(KernelLaunch(f"exchange {k}", exchange.exchange_halos, args, blocks, begin=write))
            pe.launches.append(Launch(f"read {k}", halos.read, (pe.me, k), begin=None if parts else write))
    return []


HALOS = {"exchange_halos": exchanged}
