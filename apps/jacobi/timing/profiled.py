"""A team that records when its kernels, puts, signals and reductions run, so that any variant can be profiled."""

from collections.abc import Callable
from typing import Any

from ...program.outcome import Outcome
from ..grid.problem import Problem
from .clocks import clock, ranges
from .phases import Phases

MIN_SWEEPS, MAX_SWEEPS, TARGET_S = 48, 1000, 0.05  # of a profile, which takes about TARGET_S
OF_A_PASS = 8  # sweeps that most passes do: for a rest another kernel would be compiled
EXCHANGES = ("put", "get", "put_signal", "exchange", "Sendrecv", "Send", "Isend", "nccl swap")
HALO = ("put", "get", "put_signal", "wait_signal", "exchange", "barrier", "quiet")  # methods of a team
MPI_HALO = ("Sendrecv", "Send", "Recv", "Isend", "Irecv")  # and of its communicator
MPI_NORM = ("Allreduce", "Iallreduce", "allreduce")


class Recorder:
    """Wraps functions, so that each call makes an NVTX range and takes two timestamps in its stream."""

    def __init__(self, team: Any):
        self._clock, (self._push, self._pop) = clock(team), ranges(team)
        self._stamps: list[tuple[str, Any, Any]] = []
        self._names: set[str] = set()

    def wrap(self, phase: str, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, whose calls are recorded as part of a phase."""

        def recorded(*args: Any, **kwargs: Any) -> Any:
            self._push(f"{phase}: {name}")
            stream = kwargs.get("stream")
            begin = self._clock.now(stream)
            result = function(*args, **kwargs)
            self._stamps.append((phase, begin, self._clock.now(stream)))
            self._names.add(name)
            self._pop()
            return result

        return recorded

    def start(self) -> None:
        """Discard what was recorded so far."""
        self._names.clear()
        self._stamps = [("", self._clock.now(None), None)]

    def stop(self, sweeps: int) -> Phases:
        """What was recorded since ``start``, for ``sweeps`` sweeps.  Waits for the device.

        If no exchange was recorded, kernels do it, and the barrier at the end of a solve does not count as halo.
        """
        (_, zero, _), *calls = self._stamps
        if not self._names & set(EXCHANGES):
            calls = [one for one in calls if one[0] != "halo"]
        calls = [one for one in calls if one[1] is not None and one[2] is not None]
        times = iter(self._clock.seconds([zero, *(m for _, *both in calls for m in both), self._clock.now(None)])[1:])
        phases = Phases(sweeps, 0.0)
        for phase, _, _ in calls:
            phases.busy[phase].append((next(times), next(times)))
        phases.total_s = next(times)
        return phases


class Wrapped:
    """An object with some recorded methods."""

    def __init__(self, inner: Any, recorder: Recorder, phases: dict[str, tuple[str, ...]]):
        self._inner = inner
        for phase, names in phases.items():
            for name in names:
                if hasattr(inner, name):
                    setattr(self, name, recorder.wrap(phase, name, getattr(inner, name)))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class ProfiledTeam(Wrapped):
    """Replaces the team, and records its calls."""

    def __init__(self, team: Any):
        self.recorder = Recorder(team)
        super().__init__(team, self.recorder, {"halo": HALO, "norm": ("allreduce",)})
        self.comm = Wrapped(team.comm, self.recorder, {"halo": MPI_HALO, "norm": MPI_NORM})

    def kernel(self, kernel: Callable[..., Any], *args: Any, **kwargs: Any) -> Callable[..., Any]:
        """A kernel whose launches are recorded."""
        return self.recorder.wrap("compute", kernel.__name__, self._inner.kernel(kernel, *args, **kwargs))

    def plan_allreduce(self, *args: Any, **kwargs: Any) -> Callable[..., Any]:
        """A plan whose calls are recorded."""
        return self.recorder.wrap("norm", "allreduce", self._inner.plan_allreduce(*args, **kwargs))


def profile(team: Any, problem: Problem, sweep_s: float, make: Callable[[Any], Any]) -> list[dict[str, float]]:
    """``Phases.per_sweep_us`` of each PE, from some sweeps of a second solve.  Collective.

    sweep_s: about the time of a sweep;  make: (team) -> a solver
    """
    profiled = ProfiledTeam(team)
    solver = make(profiled)
    solver.steps.note(profiled.recorder.wrap)
    count = min(max(MIN_SWEEPS, int(TARGET_S / max(sweep_s, 1e-9))), MAX_SWEEPS, problem.niter)
    count = count // OF_A_PASS * OF_A_PASS or count
    solver.reset()
    solver.warm_up()
    for sweeps in (min(MIN_SWEEPS, count), count):  # the first run loads what is not loaded yet
        solver.reset()
        team.comm.Barrier()
        profiled.recorder.start()
        done = solver.run(outcome=Outcome(), stop=sweeps).iterations
        us = profiled.recorder.stop(done).per_sweep_us()
    solver.free()
    return team.comm.allgather(us)
