"""Many sweeps at a time by ``Grid.plan_sweep``: the library moves the halos, sums the norms, and has several engines.

    stream | chunk of up to some hundred sweeps, with the norm of the last one, or of all | host reads norms | next chunk

When a norm inside a chunk ends the solve, fewer sweeps are done again from the chunk's first field, which was kept.
Read first: solver.py, ``chunk`` in problem.py, and ``relaxed`` in kernels.py.
"""

from typing import Any

from ..program.device import Readback, array_module
from .kernels import relaxed
from .problem import Problem, checked, chunk
from .solver import Ends, Solver

MOST_DEPTH = 8  # sweeps from one exchange to the next
ROWS_PER_SWEEP = 4  # of a PE, at least: with fewer rows most of the work would be in the rows that neighbours wait for
REHEARSED = 2000  # sweeps of a solve, among which nearly all of its kinds of chunks are


class Chunks(Solver):
    """engine: of ``Grid.plan_sweep``; "auto": the one that is predicted to be the fastest for the size"""

    engine: str

    def __init__(self, team: Any, problem: Problem):
        rows = (problem.ny - 2) // team.n_pes  # of the PE with the fewest
        halo = max(1, min(rows // ROWS_PER_SWEEP, MOST_DEPTH))
        super().__init__(team, problem, halo)
        self._engine = "plain" if self.engine == "blocked" and halo == 1 else self.engine  # which needs deeper halos
        self._first = array_module(team).empty_like(self.fields.old)  # the first field of a chunk
        self._plans: dict[tuple[int, bool | str, int], tuple[Any, Readback | None]] = {}
        self.plan(*chunk(problem, 0, problem.niter, False))  # raises where the engine cannot run

    def plan(self, count: int, norm: bool | str) -> tuple[Any, Readback | None]:
        """The plan of sweeps of the present field, and what reads its norms.  Collective.  Raises Unsupported."""
        key = count, norm, self.fields.current
        if key not in self._plans:
            u, v = self.fields.old, self.fields.new
            sweep = self.fields.grid.plan_sweep(relaxed, u, v, sweeps=count, norm=norm, engine=self._engine)
            norms = sweep.norms if norm == "every" else sweep.norm
            self._plans[key] = sweep, Readback(self.team, norms) if norm else None
        return self._plans[key]

    def sweep(self, count: int, norm: bool | str) -> list[float]:
        """Sweep ``count`` times, and return the norms.  Collective."""
        plan, readback = self.plan(count, norm)
        plan(self.stream)
        if count % 2:
            self.fields.advance()
        if readback is None:
            return []
        readback.start(self.stream)
        return readback.wait().tolist()

    def sweeps(self, done: int, stop: int, show: bool, ends: Ends) -> bool:
        while done < stop:
            count, norm = chunk(self.problem, done, stop, show)
            if norm == "every":
                with self.stream:
                    self._first[...] = self.fields.old
            norms = self.sweep(count, norm)
            done += count
            for k, value in enumerate(norms, done - len(norms)):
                if checked(k, self.problem.nccheck, show) and ends(k, value):
                    if k + 1 < done:
                        with self.stream:
                            self.fields.old[...] = self._first
                        self.sweep(k + 1 - (done - count), norm)  # the same norms, so that the machine code exists
                    return True
        return False

    def warm_up(self, show: bool = False) -> None:
        done, kinds = 0, []
        while done < min(self.problem.niter, REHEARSED):
            kinds.append(chunk(self.problem, done, self.problem.niter, show))
            done += kinds[-1][0]
        for kind in dict.fromkeys(kinds):
            self.plan(*kind)  # which compiles
            if self.team.backend == "cuda":
                self.sweep(*kind)  # which loads
        longest = max(self._plans, key=lambda key: key[0])
        used = next(line for line in self._plans[longest][0].explain().splitlines() if line[0] == "*")
        self.how = f"{longest[0]} sweeps by the engine {' '.join(used[1:].split())}"
        self.finish()
        self.team.comm.Barrier()

    def free(self) -> None:
        self._plans.clear()
        super().free()
