"""Many sweeps at a time by ``Grid.plan_sweep``: the library moves the halos, sums the norms, and has several engines.

    loop of the device   copy the field | chunk of up to 256 sweeps | test of the norms: another chunk, or the end

While a loop runs, the host prepares the next one, and reads the norms of the last one.
If a norm inside a chunk ends the solve, the host repeats fewer sweeps from the copy of the chunk's first field.
Read first: solver.py, ``chunk`` in problem.py, and ``relaxed`` in kernels.py.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..program.device import Readback, address, array_module
from .chunk_kernels import MORE, Chunk, end_chunk, layout
from .kernels import THREADS, relaxed
from .problem import Problem, chunk, due_iterations
from .solver import Ends, Solver

MOST_DEPTH = 8  # the most sweeps between two exchanges
ROWS_PER_SWEEP = 4  # the least rows of a PE for each of these sweeps: else neighbours would need most of its rows
REHEARSED = 2_000_000  # number of sweeps that a solve rehearses: a kind of chunk that first occurs later costs little
LOOP_SWEEPS = {"cuda": 16384, "host": 256}  # the most sweeps of a loop; norms are printed after it


class Kind(NamedTuple):
    """A kind of chunk.  norm: True: the norm of the last sweep; "every": the norms of all sweeps; False: no norm"""

    sweeps: int
    norm: bool | str

    @property
    def norms(self) -> int:
        """Number of norms."""
        return self.sweeps if self.norm == "every" else int(self.norm)


class Run(NamedTuple):
    """A run of a loop.

    n:      number of its chunks;  start: number of sweeps before it
    due:    iterations whose norms are due;  places: indices of these norms in the loop's table
    """

    kind: Kind
    n: int
    start: int
    due: np.ndarray
    places: np.ndarray

    @property
    def end(self) -> int:
        """Number of sweeps after it."""
        return self.start + self.n * self.kind.sweeps


class Chunks(Solver):
    """Base of the variants by plans of sweeps.  engine: engine of ``Grid.plan_sweep``"""

    engine: str

    def __init__(self, team: Any, problem: Problem):
        rows = (problem.ny - 2) // team.n_pes  # the fewest rows of a PE
        halo = max(1, min(rows // ROWS_PER_SWEEP, MOST_DEPTH))
        super().__init__(team, problem, halo)
        self._engine = "plain" if self.engine == "blocked" and halo == 1 else self.engine  # blocked needs deeper halos
        self._most = LOOP_SWEEPS[team.backend]
        self._layout = layout(self._most)
        with self.stream:
            self._first = self.fields.old.copy()  # the first field of a chunk
            self._state = array_module(team).zeros(self._layout.itemsize // 8, "int64")
        self._first_n, self._first_places = 0, np.arange(0)  # the last run's, whose first words are in ``_first_words``
        self._more = self._state[MORE : MORE + 1].view("float64")
        self._readback, self._end = Readback(team, self._state), team.kernel(end_chunk, "float64")
        self._plans: dict[tuple[Kind, int], Any] = {}  # by kind and present field
        self._loops: dict[tuple[Kind, int], Any] = {}
        self.plan(Kind(*chunk(problem, 0, problem.niter, False)))  # raises if the engine cannot run

    def plan(self, kind: Kind) -> Any:
        """The plan of sweeps of the present field.  Collective.  Raises Unsupported."""
        key = kind, self.fields.current
        if key not in self._plans:
            u, v = self.fields.old, self.fields.new
            sweep = self.fields.grid.plan_sweep(relaxed, u, v, sweeps=kind.sweeps, norm=kind.norm, engine=self._engine)
            self._plans[key] = sweep
        return self._plans[key]

    def loop(self, kind: Kind) -> Any:
        """The loop of chunks that begin with the present field.  Collective.  Raises Unsupported."""
        key = kind, self.fields.current
        if key not in self._loops:
            self._loops[key] = self.team.plan_loop(self._body(kind), self._more, 0.5, self._most)
        return self._loops[key]

    def _body(self, kind: Kind) -> Callable[[Any], None]:
        sweep, first, old = self.plan(kind), self._first, self.fields.old
        norms = sweep.norms if kind.norm == "every" else sweep.norm
        end = Chunk(address(self._state), address(norms) if kind.norms else 0, kind.norms, self.problem.tol)

        def body(stream: Any) -> None:
            if kind.norm == "every":
                with stream:
                    first[...] = old
            sweep(stream)
            self._end(1, end, stream=stream, threads=THREADS)

        return body

    def run_from(self, done: int, stop: int, show: bool) -> Run:
        """The run of a loop of chunks of one kind, as many as possible."""
        kind, n = Kind(*chunk(self.problem, done, stop, show)), 1
        while kind.sweeps % 2 == 0 and (n + 1) * kind.sweeps <= self._most and done + n * kind.sweeps < stop:
            if chunk(self.problem, done + n * kind.sweeps, stop, show) != kind:
                break
            n += 1
        due = due_iterations(self.problem, done, done + n * kind.sweeps, show)
        return Run(kind, n, done, due, due - done if kind.norm == "every" else np.arange(n * kind.norms))

    def start(self, run: Run) -> None:
        """Enqueue the loop.  Collective."""
        if run.n != self._first_n or not np.array_equal(run.places, self._first_places):
            words = np.zeros(1, self._layout)
            words["stop"], words["table"][0, run.places] = run.n, 1
            self._first_n, self._first_places = run.n, run.places
            with self.stream:
                self._first_words = array_module(self.team).asarray(words.view("int64"))
        with self.stream:
            self._state[...] = self._first_words
        self.loop(run.kind)(self.stream)
        self._readback.start(self.stream)
        if run.kind.sweeps % 2:
            self.fields.advance()

    def sweeps(self, done: int, stop: int, show: bool, ends: Ends) -> bool:
        run = self.run_from(done, stop, show) if done < stop else None
        if run:
            self.start(run)
        while run:
            following = self.run_from(run.end, stop, show) if run.end < stop else None
            words = self._readback.wait().copy().view(self._layout)[0]
            if following and not words["ended"]:
                self.start(following)
            done = run.start + run.kind.sweeps * int(words["ran"])
            due, norms = run.due[run.due < done], words["table"][run.places[run.due < done]]
            if ends(due, norms):
                self._go_back(run.kind, int(done - 1 - due[np.argmax(~(norms > self.problem.tol))]))
                return True
            run = following
        return False

    def _go_back(self, kind: Kind, sweeps: int) -> None:
        """Undo the last ``sweeps`` sweeps of the last chunk.  It keeps the kind of norm, whose machine code is loaded."""
        if sweeps:
            with self.stream:
                self.fields.old[...] = self._first
            self.plan(Kind(kind.sweeps - sweeps, kind.norm))(self.stream)
            if (kind.sweeps - sweeps) % 2:
                self.fields.advance()

    def warm_up(self, show: bool = False) -> None:
        done, kinds = 0, []
        while done < min(self.problem.niter, REHEARSED):
            kinds.append(Kind(*chunk(self.problem, done, self.problem.niter, show)))
            done += kinds[-1].sweeps
        self.team.compile([self._end])
        for kind in dict.fromkeys(kinds):
            self.loop(kind)  # compiles the kernels
            if self.team.backend == "cuda":
                self.start(Run(kind, 1, 0, np.arange(0), np.arange(0)))  # loads the kernels
                self._readback.wait()
        longest = max(self._plans, key=lambda key: key[0].sweeps)
        used = next(line for line in self._plans[longest].explain().splitlines() if line[0] == "*")
        name, *text = used[1:].split()
        self.engine_line = f"The engine {name} makes {longest[0].sweeps} sweeps: {' '.join(text)}"
        self.finish()
        self.team.comm.Barrier()

    def free(self) -> None:
        self._loops.clear()
        self._plans.clear()
        super().free()
