"""The solver's kernel that exchanges halos (``apps/jacobi/sweep``), with sweeps of integers in the place of ``march``.

A row of the field of one PE has ``across`` pieces of COLUMNS columns; the PEs' rows form a ring.
"""

from collections.abc import Callable
from itertools import chain
from random import Random
from types import FunctionType
from typing import Any

import numpy as np

from apps.jacobi.sweep.exchanging_kernel import exchanging_sweeps
from apps.jacobi.sweep.records import FieldPair, Neighbours, Pass, Pieces, Rows

from .arrays import must_be
from .bodies import bound, by_one
from .device import Launch, Machine

COLUMNS, WORD_BYTES = 4, 8
PIECE_BYTES = COLUMNS * WORD_BYTES
WEIGHTS = (3, 5, 7, 11, 13)  # of a point's neighbours above, below, left, right, and of itself


def swept(field: np.ndarray) -> np.ndarray:
    """One sweep of a field (rows, nx): (rows - 2, nx).  Columns beyond the first and the last one are zero."""
    wide = np.pad(field, ((0, 0), (1, 1)))
    sides = (wide[:-2, 1:-1], wide[2:, 1:-1], wide[1:-1, :-2], wide[1:-1, 2:], wide[1:-1, 1:-1])
    return sum(weight * side for weight, side in zip(WEIGHTS, sides, strict=True)) % 1_000_003


def march(warp: Any, b: int, fields: FieldPair, band: Rows, work: Pass) -> None:
    """As ``apps.jacobi.sweep.kernels.march``, of int64.  Other blocks may run between its reads and writes of rows."""
    across, count = fields.nx // COLUMNS, work.n_sweeps
    start = band.first_row + b // across * band.stride_rows
    stop, low = min(start + band.chunk_rows, band.stop_row), b % across * COLUMNS
    left, right = max(0, low - count), min(fields.nx, low + COLUMNS + count)

    def row_of(field: int, row: int, begin: int, end: int) -> np.ndarray:
        at = field + row * fields.pitch_bytes + begin * WORD_BYTES
        return warp.memory.elements(warp.pe, at, end - begin, np.dtype("int64"))

    patch = np.empty((stop - start + 2 * count, right - left), np.int64)
    for row in range(len(patch)):
        patch[row] = row_of(fields.old, start - count + row, left, right)
        warp.pause()
    for _ in range(count):
        patch = swept(patch)
    for row in range(start, stop):
        row_of(fields.new, row, low, low + COLUMNS)[:] = patch[row - start, low - left : low - left + COLUMNS]
        warp.pause()


def with_march(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel of the solver that calls this march."""
    names = {**kernel.__globals__, "march": by_one(march)}
    clone = FunctionType(kernel.__code__, names, kernel.__name__)
    clone.__annotations__ = kernel.__annotations__
    return bound(clone)


class Solver:
    """A field over all PEs, and the launches that sweep it."""

    def __init__(self, machine: Machine, rng: Random, depth: int, least_rows: int):
        self.machine, self.depth, n = machine, depth, machine.n_pes
        self.across = rng.randint(1, 3)
        self.nx = self.across * COLUMNS
        self.rows = [rng.randint(least_rows, least_rows + 5) for _ in range(n)]
        self.pitch_bytes = self.nx * WORD_BYTES
        self.nbytes = (max(self.rows) + 2 * depth) * self.pitch_bytes
        self.fields = [machine.memory.allocate(self.nbytes) for _ in range(2)]
        self.words = {name: machine.memory.allocate(4 * WORD_BYTES * 256) for name in ("arrivals", "epochs")}
        self.whole = np.random.default_rng(rng.getrandbits(32)).integers(0, 1000, (sum(self.rows), self.nx))
        self.swept = 0
        for pe in range(n):
            rows = range(self._first(pe) - depth, self._first(pe) + self.rows[pe] + depth)
            self.field(pe, 0)[:] = self.whole[np.array(rows) % len(self.whole)]

    def _first(self, pe: int) -> int:
        return sum(self.rows[:pe])

    def field(self, pe: int, which: int) -> np.ndarray:
        """Field number ``which`` of PE ``pe``, (rows with halos, nx)."""
        n = (self.rows[pe] + 2 * self.depth) * self.nx
        return self.machine.memory.elements(pe, self.fields[which], n, np.dtype("int64")).reshape(-1, self.nx)

    def launch(self, kernel: Any, pe: int, blocks: int, sweep: int, *call: Pass | Pieces) -> Launch:
        """A launch of PE ``pe`` from sweep number ``sweep`` on; it reads field sweep % 2 and writes the other."""
        top, bottom = (pe - 1) % self.machine.n_pes, (pe + 1) % self.machine.n_pes
        fields = FieldPair(self.fields[(sweep + 1) % 2], self.fields[sweep % 2], self.nx, self.pitch_bytes)
        neighbours = Neighbours(top, bottom, self.rows[top], self.words["arrivals"], self.words["epochs"])
        numbers = [pe, *chain(fields, *call, neighbours)]
        return Launch(f"{kernel.__name__} {sweep}", with_march(kernel), numbers, blocks)

    def right(self, pe: int, sweeps: int, which: int) -> Callable[[], None]:
        """A check of PE ``pe``'s rows after ``sweeps`` sweeps in all."""

        def at_once() -> None:
            while self.swept < sweeps:
                self.whole = swept(np.concatenate([self.whole[-1:], self.whole, self.whole[:1]]))
                self.swept += 1
            own = self.field(pe, which)[self.depth : self.depth + self.rows[pe]]
            wanted = self.whole[self._first(pe) : self._first(pe) + self.rows[pe]]
            must_be(own.reshape(-1), wanted.reshape(-1))

        return at_once


def exchanging(machine: Machine, rng: Random) -> list[Callable[[], None]]:
    """Passes of several sweeps, each a launch."""
    depth = rng.randint(1, 3)
    solver, passes = Solver(machine, rng, depth, depth), rng.randint(3, 8)
    for pe in machine.pes:
        rows, chunk_rows = solver.rows[pe.me], rng.randint(1, 4)
        sides = 2 if rows >= 2 * depth else 1
        between = max(0, rows - 2 * depth) if sides == 2 else 0
        inner_blocks = -(-between // chunk_rows) * solver.across
        for k in range(passes):
            blocks = rng.randint(1, sides * solver.across + inner_blocks)
            pieces = Pieces(rows, depth, sides, solver.across, PIECE_BYTES, inner_blocks, chunk_rows)
            pe.issue([solver.launch(exchanging_sweeps, pe.me, blocks, k, Pass(depth, 0, 0, 0), pieces)])
    return [solver.right(pe, passes * depth, passes % 2) for pe in range(machine.n_pes)]


SOLVER = {"exchanging_sweeps": exchanging}
