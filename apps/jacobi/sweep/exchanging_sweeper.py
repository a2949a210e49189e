"""Launches of ``exchanging_kernel.py``: sweeps of all rows of a PE, with the exchange inside the kernel."""

from typing import Any

from ...program.device import address, array_module
from ..grid.fields import Fields
from ..grid.problem import Problem
from ..norm.exact_sum import segment_columns
from .band import RESIDENT, THREADS_PER_BLOCK, WARPS_PER_BLOCK, blocks_across, inner
from .exchanging_kernel import exchanging_sweeps
from .records import FieldPair, Neighbours, Pass, Pieces
from .sweeper import compiled, scratch_for

SUMMED = {"none": 0, "last": 1}  # how many sweeps of a pass have a norm; "all": all of them


class ExchangingSweeper:
    """One launch does some sweeps of all rows of a PE, and the exchange of the new halos.

    Why no halo is overwritten too early.  A piece of a neighbour's halo is put by the edge block at the same columns,
    after that block has seen the neighbour's signals of the launch before, at its own columns and at those beside.  The
    neighbour sends these after its edge blocks there have read the halo that is now overwritten; no others read halos.
    The kernel counts epochs in device memory, so that a captured launch can be replayed.
    """

    def __init__(self, team: Any, problem: Problem, fields: Fields):
        self._team, self._problem, self._fields = team, problem, fields
        slab, depth, across = fields.slab, fields.depth, blocks_across(team, problem)
        sides = 2 if slab.rows > 2 * depth else 1
        columns_bytes = WARPS_PER_BLOCK * segment_columns(problem.dtype) * problem.item_bytes
        piece_bytes = columns_bytes if team.backend == "cuda" else fields.pitch_bytes
        self._pieces = Pieces(slab.rows, depth, sides, across, piece_bytes, 0, 1)
        self._arrivals = team.signals(2 * 2 * across)  # (parities, sides, across)
        self._epochs = array_module(team).zeros(sides * across, "int64")
        self._scratch = scratch_for(team, problem, depth)
        self._scratch_at = address(self._scratch)
        words = (address(self._arrivals), address(self._epochs))
        self._neighbours = Neighbours(slab.top, slab.bottom, fields.parts[slab.top].rows, *words)
        self._kernels: dict[tuple[int, str], Any] = {}
        self._cuts = {count: self._cut(count) for count in range(1, depth + 1) if count in RESIDENT}

    def _cut(self, count: int) -> Pieces:
        """The pieces of a pass of ``count`` sweeps."""
        fields, pieces = self._fields, self._pieces
        if pieces.sides == 1:
            return pieces
        band = inner(self._team, self._problem, 2 * fields.depth, fields.slab.rows, count)
        return pieces._replace(inner_blocks=band.blocks, chunk_rows=band.rows.chunk_rows)

    def __call__(self, new: Any, old: Any, count: int, norms: str, words_at: int, stream: Any) -> None:
        """new = ``count`` sweeps of old, halos included, in stream order.  norms: "none", "last" or "all"."""
        if (count, norms) not in self._kernels:
            self._kernels[count, norms] = compiled(self._team, exchanging_sweeps, self._problem, count, norms)
        pieces = self._cuts[count]
        blocks = pieces.sides * pieces.across + pieces.inner_blocks if self._team.backend == "cuda" else 1
        fields = FieldPair(address(new), address(old), self._problem.nx, self._fields.pitch_bytes)
        work = Pass(count, SUMMED.get(norms, count), words_at, self._scratch_at)
        kernel = self._kernels[count, norms]
        kernel(blocks, fields, work, pieces, self._neighbours, stream=stream, threads=THREADS_PER_BLOCK)
