"""The base of all variants: the fields, the end of a solve, and the launch of a sweep."""

from collections.abc import Callable
from typing import Any

import numpy as np

from pennympi import specialised

from ..program.device import address, multiprocessors, named_range
from ..program.outcome import Outcome
from .fields import Fields
from .kernels import ROWS, THREADS, sweep
from .loop_kernels import Turn
from .problem import Problem, shown
from .tiles import MOST_TILE_ROWS, Band, Neighbours, tiles_across

OnNorm = Callable[[int, float], None]
Ends = Callable[[np.ndarray, np.ndarray], bool]
NO_NEIGHBOURS = Neighbours(0, 0, 0, 0, 0)
BLOCKS = 1  # the least blocks of a sweep on each multiprocessor: tiles of a small grid have fewer rows


class Solver:
    """One PE's part of a solve.  Making one is collective."""

    engine_line = ""  # the line of the report that names the engine of ``Chunks``

    def __init__(self, team: Any, problem: Problem, depth: int = 1):
        self.team, self.problem, self.stream = team, problem, team.stream()
        self.fields = Fields(team, problem, depth)

    @classmethod
    def why_not(cls, team: Any) -> str:
        """The reason why the variant cannot run on this team, or ""."""
        return ""

    def reset(self, initial: np.ndarray | None = None) -> None:
        """Start from a whole field (ny, nx) whose rows form a ring, or from zeros and the boundary.  Collective."""
        self.fields.reset(initial)

    def run(
        self, show: bool = False, on_norm: OnNorm | None = None, outcome: Outcome | None = None, stop: int | None = None
    ) -> Outcome:
        """Sweep from ``outcome`` (None: the start) to iteration ``stop`` (None: niter) or convergence.  Collective.

        show:    True: also compute the norms that are printed (``problem.shown``)
        on_norm: called with (iteration, norm) for each norm that is printed
        Returns ``outcome``, updated.  Raises PeerTimeout.
        """
        outcome, stop = outcome or Outcome(), self.problem.niter if stop is None else stop

        def ends(iterations: np.ndarray, norms: np.ndarray) -> bool:
            ended = outcome.add(iterations, norms, self.problem.tol)
            if on_norm:
                added = iterations[iterations < outcome.iterations] if ended else iterations
                for k in np.flatnonzero(shown(added, self.problem.nccheck)):
                    on_norm(int(added[k]), float(norms[k]))
            return ended

        with named_range(self.team, "Jacobi solve"):
            if not self.sweeps(outcome.iterations, stop, show, ends):
                outcome.iterations = stop
            self.finish()
        return outcome

    def sweeps(self, done: int, stop: int, show: bool, ends: Ends) -> bool:
        """Sweep from iteration ``done`` to ``stop``, or until ends(iterations, norms) is True, which it then returns."""
        raise NotImplementedError

    def finish(self) -> None:
        """Wait for the solver's stream."""
        self.team.synchronize(self.stream)

    def warm_up(self, show: bool = False) -> None:
        """Run each kernel and loop of ``run`` once, to compile and load it.  Changes the field.  Collective."""
        self.sweeps(0, 2, False, lambda iterations, norms: False)
        self.finish()
        self.team.comm.Barrier()

    def free(self) -> None:
        """Free all symmetric memory.  Collective."""
        self.fields.free()


def has_exchange(kind: type) -> bool:
    """True if the sweep and the exchange of a variant are separate launches."""
    return issubclass(kind, SweepBySweep) and kind.exchange is not None


class SweepBySweep(Solver):
    """Base of the variants that enqueue one sweep at a time, by the kernel of ``kernels.py``.

    exchange: (stream) -> None, enqueues the exchange of the edge rows of ``fields.new``; None: the kernel exchanges them
    """

    exchange: Callable[[Any], None] | None = None

    def __init__(self, team: Any, problem: Problem):
        super().__init__(team, problem)
        self._sweep = team.kernel(specialised(sweep, problem.item_bytes), problem.dtype, THREADS, resident=2)
        self._blocks = BLOCKS * multiprocessors(team) if team.backend == "cuda" else 1
        self._bands: dict[tuple[int, bool, bool], tuple[Band, int]] = {}

    def sweep(self, stream: Any, turn: Turn) -> None:
        """Enqueue a sweep from ``fields.old`` to ``fields.new``, the exchange of new halos, and the sum of the norm."""
        raise NotImplementedError

    def repeated(self, body: Callable[[Any], None], n: int) -> Callable[[Any], None]:
        """A function of a stream that enqueues n runs of a body, in the same kind of loop as the solve.  Collective."""
        raise NotImplementedError

    def launch(
        self, stream: Any, turn: Turn, neighbours: Neighbours = NO_NEIGHBOURS, edges: bool = True, inner: bool = True
    ) -> None:
        """Enqueue the sweep of the edge rows, and of the inner rows."""
        key = self.fields.current, edges, inner
        if key not in self._bands:
            self._bands[key] = self._band(edges, inner)
        band, tiles = self._bands[key]
        turn = turn._replace(decides=int(inner and turn.state != 0))
        if blocks := tiles + turn.decides:
            self._sweep(blocks, band, neighbours, turn, stream=stream, threads=THREADS)

    def _band(self, edges: bool, inner: bool) -> tuple[Band, int]:
        """The rows of a launch, and the number of their tiles."""
        fields, nx, tile_rows = self.fields, self.problem.nx, MOST_TILE_ROWS
        new, old, across = fields.new, fields.old, tiles_across(nx)
        n_edges, n_inner = min(fields.rows, 2) if edges else 0, max(fields.rows - 2, 0) if inner else 0
        while tile_rows > ROWS and across * -(-n_inner // tile_rows) < self._blocks:
            tile_rows //= 2
        band = Band(address(new), address(old), fields.rows, n_edges, tile_rows, nx, old.strides[0], old.itemsize)
        return band, across * (n_edges + -(-n_inner // tile_rows))
