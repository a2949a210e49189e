"""One kernel does the whole time loop: each block waits for the blocks around it, on this PE and on the neighbours.

The norms of all sweeps of a launch are summed over the PEs at its end.  If one of them ends the solve, a copy of the
field from before the launch is restored, and a second launch does only the sweeps that are wanted.
Read first: device.py, then ../sweep/persistent_kernel.py.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from ...program.device import address, array_module, multiprocessors
from ..grid.problem import Problem
from ..norm.exact_sum import MAX_CHUNK_ROWS, WORDS_BYTES, segment_columns
from ..norm.norm import Norm, words_shape
from ..sweep.band import THREADS_PER_BLOCK, WARPS_PER_BLOCK, blocks_across
from ..sweep.kernels import bound
from ..sweep.persistent_kernel import persistent_sweeps
from ..sweep.records import FieldPair, Loop, Neighbours, Tiles
from ..sweep.sweeper import scratch_for
from .steps import WithHalo

SWEEPS = 1000  # of a launch, at most
RESIDENT = 4  # blocks of a multiprocessor; all blocks of the grid must run at the same time


def most_blocks(team: Any) -> int:
    """How many blocks this PE's device runs at a time."""
    return multiprocessors(team) * RESIDENT if team.backend == "cuda" else 1


class Persistent(WithHalo):
    """A block keeps its rows and columns for all sweeps of a launch."""

    private_fields, max_sweeps, pipeline_depth = 1, SWEEPS, 0

    def __init__(self, team: Any, problem: Problem):
        super().__init__(team, problem)
        xp, slab, across = array_module(team), self.fields.slab, blocks_across(team, problem)
        chunk_rows = -(-slab.rows // (most_blocks(team) // across))
        down = -(-slab.rows // chunk_rows)
        columns_bytes = WARPS_PER_BLOCK * segment_columns(problem.dtype) * problem.item_bytes
        piece_bytes = columns_bytes if team.backend == "cuda" else self.fields.pitch_bytes
        self._arrivals = team.signals(2 * 2 * across)  # (parities, sides, across)
        self._done, self._epochs = (xp.zeros(across * down, "int64") for _ in range(2))
        self._tiles = Tiles(slab.rows, across, down, piece_bytes, chunk_rows, team.me, address(self._done))
        words = (address(self._arrivals), address(self._epochs))
        self._neighbours = Neighbours(slab.top, slab.bottom, self.fields.parts[slab.top].rows, *words)
        self._words_bytes = words_shape(team, 1)[1] * WORDS_BYTES
        self._scratch, self._start = scratch_for(team, problem, 1), xp.empty_like(self.fields.old)
        (self._kernel,) = self.kernels(team, problem, True)
        self._due: list[bool] = []

    @classmethod
    def refuse(cls, team: Any, problem: Problem) -> str:
        across, n_blocks = blocks_across(team, problem), most_blocks(team)
        if across > n_blocks:
            return f"a row of {problem.nx} columns takes {across} blocks, more than this GPU runs at a time"
        rows = -(-(problem.ny - 2) // (team.n_pes * (n_blocks // across)))
        if team.backend == "cuda" and rows > MAX_CHUNK_ROWS:
            return f"a block would sum up the norm of {rows} rows, more than {MAX_CHUNK_ROWS}: use more PEs"
        return ""

    @classmethod
    def kernels(cls, team: Any, problem: Problem, show: bool, **settings: Any) -> list[Any]:
        bodies = (("march", 1, "none"), ("summed_march", 1, "last"))
        kernel = bound(persistent_sweeps, team.backend, bodies, problem.dtype, problem.nx)
        return [team.kernel(kernel, problem.dtype, most_threads=THREADS_PER_BLOCK, resident=RESIDENT)]

    def make_norm(self) -> Norm:
        return Norm(self.team, SWEEPS)

    def fit(self, due: Sequence[bool]) -> int:
        """See ``Steps``.  The norms of one launch are evenly spaced."""
        at = [k for k, wanted in enumerate(due) if wanted]
        for before, after in pairwise(at):
            if after - before != at[1] - at[0]:
                return before + 1
        return len(due)

    def step(self, due: Sequence[bool]) -> None:
        self._due = list(due)
        at = [k for k, wanted in enumerate(due) if wanted]
        if not at:
            self._launch(len(due), 0, 1, 0)
            return
        with self.stream:
            self._start[...] = self.fields.old
        slot = self.norm.open()
        every = at[1] - at[0] if len(at) > 1 else len(due)
        self._launch(len(due), at[0] + 1, every, self.norm.at[slot])
        self.norm.start(slot, self.stream)

    def _launch(self, sweeps: int, first_due: int, every: int, words_at: int) -> None:
        fields = self.fields
        pair = FieldPair(address(fields.new), address(fields.old), self.problem.nx, fields.pitch_bytes)
        loop = Loop(sweeps, first_due, every, words_at, self._words_bytes, address(self._scratch))
        blocks = self._tiles.across * self._tiles.down
        where = (self._tiles, self._neighbours)
        self._kernel(blocks, pair, loop, *where, stream=self.stream, threads=THREADS_PER_BLOCK)
        fields.advance(sweeps)

    def norms(self) -> list[float]:
        return self.norm.wait()[: sum(self._due)]

    def rollback(self, keep: int, later: int) -> None:
        if keep == len(self._due):
            return
        self.fields.advance(-len(self._due))
        with self.stream:
            self.fields.old[...] = self._start
        self._launch(keep, 0, 1, 0)

    def finish(self) -> None:
        self.team.barrier(stream=self.stream)  # puts to the neighbours may still read our last rows
        self.synchronize()

    def rehearse(self, due: Sequence[bool]) -> None:
        super().rehearse(due[: due.index(True) + 1] if any(due) else due[:1])
