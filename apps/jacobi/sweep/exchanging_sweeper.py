"""Sweeps that exchange halos inside their kernel: ``sweep.exchanging_sweeps`` with all that it needs."""

from typing import Any

from ..grid.device import address, array_module
from ..grid.fields import Fields
from ..grid.problem import Problem
from ..norm.exact_sum import segment_columns
from .band import THREADS_PER_BLOCK, WARPS_PER_BLOCK, blocks_across, inner
from .sweep import exchanging_sweeps
from .sweeper import compiled, scratch_for


class ExchangingSweeper:
    """One launch does some sweeps of all rows of a PE.

    Why nobody is overwritten.  A piece of a neighbour's halo is put by the edge block at the same columns, after that
    block has seen the neighbour's signals of the launch before, at its own columns and beside.  The neighbour sends them
    when its edge blocks there have read the halo that is now overwritten, and no other block reads halos.
    The epochs are counted in memory of the device, so that a captured launch can be replayed.
    """

    def __init__(self, team: Any, problem: Problem, fields: Fields, max_sweeps: int):
        self._team, self._problem, self._fields = team, problem, fields
        rows, depth = fields.slab.rows, fields.depth
        self._sides = 2 if rows > 2 * depth else 1
        self._across = blocks_across(team, problem)
        self._pieces = self._sides * self._across
        whole_row = team.backend != "cuda"
        self._piece_bytes = (
            fields.pitch_bytes if whole_row else WARPS_PER_BLOCK * segment_columns(problem.dtype) * problem.item_bytes
        )
        self._arrivals = team.signals(2 * 2 * self._across)  # (parities, sides, across)
        self._epochs = array_module(team).zeros(self._pieces, "int64")
        self._scratch = scratch_for(team, problem, max_sweeps)
        self._at = [address(one) for one in (self._scratch, self._arrivals, self._epochs)]
        self._kernels: dict[tuple[int, str], Any] = {}
        self._bands: dict[int, Any] = {}

    def prepare(self, count: int, norms: str) -> None:
        """Make the kernel for so many sweeps."""
        fields, problem, team = self._fields, self._problem, self._team
        if (count, norms) not in self._kernels:
            self._kernels[count, norms] = compiled(team, exchanging_sweeps, problem, count, norms)
        if count not in self._bands:
            first, stop = 2 * fields.depth, fields.slab.rows
            self._bands[count] = inner(team, problem, first, stop, count) if self._sides == 2 else None

    def __call__(self, new: Any, old: Any, count: int, norms: str, words_at: int, stream: Any) -> None:
        """new = ``count`` sweeps of old, halos included, in stream order.  norms: "none", "last" or "all"."""
        fields, problem, team = self._fields, self._problem, self._team
        self.prepare(count, norms)
        band = self._bands[count]
        blocks, chunk = (band.blocks, band.chunk_rows) if band else (0, 1)
        scratch_at, arrivals_at, epochs_at = self._at
        slab = fields.slab
        self._kernels[count, norms](
            self._pieces + blocks if team.backend == "cuda" else 1,
            *(count, {"none": 0, "last": 1, "all": count}[norms], address(new), address(old), slab.rows, fields.depth),
            *(self._sides, self._across, self._piece_bytes, blocks, chunk, problem.nx, fields.pitch_bytes),
            *(words_at, scratch_at, fields.parts[slab.top].rows, arrivals_at, epochs_at, slab.top, slab.bottom),
            stream=stream,
            threads=THREADS_PER_BLOCK,
        )
