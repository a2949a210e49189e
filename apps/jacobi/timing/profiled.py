"""A team that notes when its kernels, puts, signals and reductions run, so that any variant can be profiled as it is."""

from collections.abc import Callable
from typing import Any

from ..grid.problem import Problem
from ..outcome import Outcome
from .clocks import clock, ranges
from .phases import Phases

SWEEPS, MAX_SWEEPS, TARGET_S = 50, 1000, 0.05  # at least, at most, and about so long
EXCHANGES = ("put", "get", "put_signal", "exchange", "Sendrecv", "Send", "Isend", "nccl swap")
HALO = ("put", "get", "put_signal", "wait_signal", "exchange", "barrier", "quiet")  # methods of a team
MPI_HALO = ("Sendrecv", "Send", "Recv", "Isend", "Irecv")  # and of its communicator
MPI_NORM = ("Allreduce", "Iallreduce", "allreduce")


class Recorder:
    """Wraps functions: every call is an NVTX range and two moments of its stream."""

    def __init__(self, team: Any):
        self._clock, (self._push, self._pop) = clock(team), ranges(team)
        self._moments: list[tuple[str, Any, Any]] = []
        self._names: set[str] = set()

    def wrap(self, phase: str, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, noted as part of a phase."""

        def noted(*args: Any, **kwargs: Any) -> Any:
            self._push(f"{phase}: {name}")
            stream = kwargs.get("stream")
            begin = self._clock.now(stream)
            result = function(*args, **kwargs)
            self._moments.append((phase, begin, self._clock.now(stream)))
            self._names.add(name)
            self._pop()
            return result

        return noted

    def start(self) -> None:
        """Forget what was noted so far."""
        self._names.clear()
        self._moments = [("", self._clock.now(None), None)]

    def stop(self, sweeps: int) -> Phases:
        """What was noted since ``start``, once all has run.

        Without any exchange the kernels do it: a barrier at the end of a solve is then no part of the halo's time.
        """
        (_, zero, _), *noted = self._moments
        if not self._names & set(EXCHANGES):
            noted = [one for one in noted if one[0] != "halo"]
        noted = [one for one in noted if one[1] is not None and one[2] is not None]
        times = iter(self._clock.seconds([zero, *(m for _, *both in noted for m in both), self._clock.now(None)])[1:])
        phases = Phases(sweeps, 0.0)
        for phase, _, _ in noted:
            phases.busy[phase].append((next(times), next(times)))
        phases.total_s = next(times)
        return phases


class Wrapped:
    """An object some of whose methods are noted."""

    def __init__(self, inner: Any, recorder: Recorder, phases: dict[str, tuple[str, ...]]):
        self._inner = inner
        for phase, names in phases.items():
            for name in names:
                if hasattr(inner, name):
                    setattr(self, name, recorder.wrap(phase, name, getattr(inner, name)))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class ProfiledTeam(Wrapped):
    """Stands where the team stands."""

    def __init__(self, team: Any):
        self.recorder = Recorder(team)
        super().__init__(team, self.recorder, {"halo": HALO, "norm": ("allreduce",)})
        self.comm = Wrapped(team.comm, self.recorder, {"halo": MPI_HALO, "norm": MPI_NORM})

    def kernel(self, text: Callable[..., Any], *args: Any, **kwargs: Any) -> Callable[..., Any]:
        """A kernel whose launches are noted."""
        return self.recorder.wrap("compute", text.__name__, self._inner.kernel(text, *args, **kwargs))

    def plan_allreduce(self, *args: Any, **kwargs: Any) -> Callable[..., Any]:
        """A plan whose calls are noted."""
        return self.recorder.wrap("norm", "allreduce", self._inner.plan_allreduce(*args, **kwargs))


def profile(team: Any, problem: Problem, sweep_s: float, make: Callable[[Any], Any]) -> list[dict[str, float]]:
    """Solve some sweeps again, noting every call: ``Phases.per_sweep_us`` of each PE.  Collective.

    sweep_s: what a sweep takes, about;  make: (team) -> a solver
    """
    noting = ProfiledTeam(team)
    solver = make(noting)
    solver.steps.note(noting.recorder.wrap)
    count = min(max(SWEEPS, int(TARGET_S / max(sweep_s, 1e-9))), MAX_SWEEPS, problem.niter)
    solver.reset()
    solver.warm_up()
    for sweeps in (min(SWEEPS, count), count):  # the first time for the sake of all that it loads
        solver.reset()
        team.comm.Barrier()
        noting.recorder.start()
        done = solver.run(outcome=Outcome(), stop=sweeps).iterations
        us = noting.recorder.stop(done).per_sweep_us()
    solver.free()
    return team.comm.allgather(us)
