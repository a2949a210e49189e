"""Schedules of a program: the networks take turns, and everything else is drawn from a seed."""

import os
import pickle
import time
from collections.abc import Callable
from random import Random
from typing import Any, NamedTuple

from greenlet import getcurrent

from ..errors import Unsupported
from ..kernels.algorithm import Topology
from .backend import make_backend
from .comm import Comm
from .device import Abilities, Machine
from .faults import Differs, Fault, Unawaited
from .job import SimulatedJob
from .network import ANY_ORDER, COPIED, IN_ORDER, POINTER
from .scheduler import TimeIsUp
from .shadow import READ
from .streams import Streams

MEMORY_BYTES = 1 << 29  # memory of a PE


class Place(NamedTuple):
    """A network, the PEs of a node (0: all PEs), and the most blocks of a launch that waits for peers."""

    network: str
    node_pes: int
    max_blocks: int


PLACES = (
    Place(POINTER, 0, 4),
    Place(ANY_ORDER, 1, 2),
    Place(COPIED, 2, 1),
    Place(POINTER, 0, 1),
    Place(ANY_ORDER, 2, 4),
    Place(IN_ORDER, 1, 2),
    Place(COPIED, 1, 1),
)


class Schedule:
    """A run of a program on all PEs.

    number: number of the schedule, from 0;  seed: seed of all its draws;  is_shown: whether its output is shown
    comm:   replacement of MPI.COMM_WORLD;  make_team: makes a team from a job and a backend
    returned: result of the program on each PE
    """

    make_team: Callable[..., Any]

    def __init__(self, base: str, number: int, n_pes: int, is_shown: bool):
        self.number, self.seed, self.is_shown = number, f"{base}/{number}", is_shown
        self.place = PLACES[number % len(PLACES)]
        size = self.place.node_pes or n_pes
        topology = Topology(tuple(pe // size for pe in range(n_pes)))
        rng = Random(self.seed)
        abilities = Abilities(self.place.max_blocks, multicast=number % len(PLACES) == 0)
        self.machine = machine = Machine(self.place.network, topology, rng, MEMORY_BYTES, abilities)
        self.comm = Comm(machine, range(n_pes))
        self._streams = [Streams(machine, pe) for pe in range(n_pes)]
        self.returned: list[bytes] = [b""] * n_pes

    def init(self, comm: Any = None) -> Any:
        """The team of the calling PE.  comm: a communicator of the simulator; any other stands for that of all PEs"""
        program: Any = getcurrent()
        comm = comm if isinstance(comm, Comm) else self.comm
        group, pe = comm.new_team(), program.pe
        job = SimulatedJob(self.machine, comm.rank, group, comm)
        team = self.make_team(job, make_backend(group, pe, self._streams[pe]))
        team.backend = "host"  # for programs, since arrays are NumPy's
        return team

    def run(self, on_pe: Callable[[], Any]) -> None:
        """Run the program to its end.  Raises the first fault, TimeIsUp."""
        for pe in range(self.machine.n_pes):
            self.machine.add_program(pe, lambda pe=pe: self._run_on(pe, on_pe))  # type: ignore[misc]
        self.machine.run()
        self._check_signals()

    def _run_on(self, pe: int, on_pe: Callable[[], Any]) -> None:
        try:
            result = on_pe()
        except Exception as error:
            error.add_note(f"on PE {pe}")
            raise
        try:
            self.returned[pe] = pickle.dumps(result)
        except Exception:  # pickling may raise any exception; such a result is not compared
            self.returned[pe] = b""

    def _check_signals(self) -> None:
        """Raise Unawaited for a signal in an array that no PE has waited for or read."""
        machine = self.machine
        for (pe, address), line in machine.network.unseen.items():
            obj = machine.memory.object_at(pe, address, 0)
            if (pe, obj.start) not in machine.results:
                continue
            low = address - obj.start
            if not machine.memory.shadow(pe, obj).last[READ][low]:
                words = machine.memory.described(pe, address)
                raise Unawaited(
                    f"{words} on PE {pe}: nobody waits for the signal sent at {machine.memory.lines.text(line)}"
                )

    @property
    def kind(self) -> tuple[Any, ...]:
        """The kind of the schedule: schedules of the same kind have the same results, bit for bit."""
        return self.number % len(PLACES), self.machine.network.node_of, self.machine.warps

    @property
    def results(self) -> tuple[Any, ...]:
        """The program's results, and the final content of its arrays."""
        return tuple(self.returned), tuple(sorted(self.machine.results.items()))

    def __str__(self) -> str:
        return f"network {self.place.network}, PEs on nodes {self.machine.network.node_of}"


def run_schedules(run: Callable[[Schedule], None], n_pes: int, seconds: float, seed: str | None) -> int:
    """Run schedules for some seconds, or that of a seed.  Returns the number of schedules.  Raises the first fault."""
    base, _, number = (seed or f"{int.from_bytes(os.urandom(4))}").partition("/")
    end_s = time.monotonic() + seconds
    before: dict[Any, tuple[str, Any]] = {}
    refused: set[int] = set()
    k = int(number or 0)
    while True:
        if k % len(PLACES) not in refused:
            schedule = Schedule(base, k, n_pes, bool(number) or k == 0)
            schedule.machine.scheduler.end_s = float("inf") if number else end_s
            try:
                run(schedule)
                _compare(schedule, before)
            except TimeIsUp:
                return k
            except Unsupported as error:
                if schedule.place.network == POINTER:
                    raise noted(error, schedule) from None
                refused.add(k % len(PLACES))  # the program reports that it does not run on this network
            except Fault as fault:
                raise noted(fault, schedule).with_traceback(None) from None  # its message names the user's lines
            except BaseException as error:
                noted(error, schedule)
                raise
        k += 1
        if number or time.monotonic() > end_s:
            return k


def noted(error: BaseException, schedule: Schedule) -> BaseException:
    """The error, with a note about how to repeat it."""
    error.add_note(f"seed={schedule.seed!r} repeats it: schedule {schedule.number}, {schedule}")
    return error


def _compare(schedule: Schedule, before: dict[Any, tuple[str, Any]]) -> None:
    """Raise Differs if an earlier schedule of the same kind has other results."""
    seed, results = before.setdefault(schedule.kind, (schedule.seed, schedule.results))
    if results == schedule.results:
        return
    for pe, (earlier, later) in enumerate(zip(results[0], schedule.results[0], strict=True)):
        if earlier != later:
            raise Differs(f"the result of the program on PE {pe} differs from that with seed={seed!r}")
    for (key, earlier), (_, later) in zip(results[1], schedule.results[1], strict=True):
        if earlier != later:
            what = schedule.machine.memory.described(*key)
            raise Differs(f"the final content of {what} of PE {key[0]} differs from that with seed={seed!r}")
