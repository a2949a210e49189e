"""Launches of the kernels that call ``march``: of a band of rows, and of all rows with the exchange inside."""

from typing import Any

from ...program.device import address, array_module
from ..grid.fields import Fields
from ..grid.problem import Problem
from ..norm.exact_sum import segment_columns
from .band import RESIDENT, THREADS_PER_BLOCK, WARPS_PER_BLOCK, Band, blocks_across, inner
from .exchanging_kernel import exchanging_sweeps
from .kernels import bound, sweeps
from .records import FieldPair, Neighbours, Pass, Pieces

SUMMED = {"none": 0, "last": 1}  # how many sweeps of a pass have a norm; "all": all of them


def compiled(team: Any, kernel: Any, problem: Problem, count: int, norms: str) -> Any:
    """A kernel that calls ``march``, compiled for passes of ``count`` sweeps; norms: "none", "last" or "all"."""
    made = bound(kernel, team.backend, count, norms, problem.dtype, problem.nx)
    return team.kernel(made, problem.dtype, most_threads=THREADS_PER_BLOCK, resident=RESIDENT[count])


def scratch_for(team: Any, problem: Problem, count: int) -> Any:
    """Scratch memory of this PE for passes of up to ``count`` sweeps, (nbytes,) uint8."""
    if team.backend == "cuda":
        return array_module(team).zeros(1, "uint8")
    from .march_host import scratch_bytes

    return array_module(team).zeros(scratch_bytes(count, problem.dtype), "uint8")


class Sweeper:
    """One sweep from one field to another.  pitch_bytes: of the fields"""

    def __init__(self, team: Any, problem: Problem, pitch_bytes: int):
        self._nx, self._pitch_bytes = problem.nx, pitch_bytes
        self._scratch = scratch_for(team, problem, 1)
        self._scratch_at = address(self._scratch)
        self._plain, self._measuring = (compiled(team, sweeps, problem, 1, norms) for norms in ("none", "last"))

    def __call__(self, new: Any, old: Any, band: Band, stream: Any, words_at: int = 0) -> None:
        """new = one sweep of old in a band of rows, in stream order.

        words_at: address of the words that the squared changes are added to (0: none)
        """
        kernel, summed = (self._measuring, 1) if words_at else (self._plain, 0)
        fields = FieldPair(address(new), address(old), self._nx, self._pitch_bytes)
        work = Pass(1, summed, words_at, self._scratch_at)
        kernel(band.blocks, fields, band.rows, work, stream=stream, threads=THREADS_PER_BLOCK)


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
