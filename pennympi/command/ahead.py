"""Kernels compiled into the cache by a process that has no team, and for CUDA perhaps no GPU."""

import importlib
import itertools
from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple

from ..app_kernel import AppKernel
from ..arrays.dtypes import DEFAULT, dtype_of
from ..arrays.dtypes import TABLE as DTYPES
from ..collectives.allreduce import AllReduce
from ..collectives.base import Collective
from ..collectives.calls import ALL
from ..compile.options import PLAIN, KernelOptions, LaunchBounds
from ..kernels.algorithm import MAX_THREADS, Algorithm, Place
from ..kernels.allreduce import PLANNED
from ..rma import kernels_of

_EVERY: tuple[type[Collective], ...] = (AllReduce, *ALL)
COLLECTIVES = {one.name: one for one in _EVERY}
REDUCING = ("allreduce", "reduce", "reduce_scatter", "reduce_scatterv")
MOVED = [("uint8", "")]  # (dtype, op) of the collectives that only move bytes


class Machine(NamedTuple):
    """What the kernels run on.  cc: compute capability of the GPU, () for a CPU;  beyond: see ``cuda.compile.Target``"""

    cc: tuple[int, ...]
    beyond: bool = False

    @property
    def backend(self) -> str:
        return "cuda" if self.cc else "host"


class Job(NamedTuple):
    """One kernel, in words that another process understands.

    what:  a collective; "" for a one-sided operation; else the module of an application
    which: the algorithm's name; the number of the kernel
    """

    what: str
    which: str | int
    n_pes: int
    dtype: str = ""
    op: str = ""
    aligned: bool = False


class Compiler:
    """Stands for a backend: it compiles into the cache, and loads nothing."""

    def __init__(self, machine: Machine):
        self._machine = machine

    def kernel(self, kernel: Callable[..., Any], name: str, options: KernelOptions = PLAIN) -> None:
        """As a backend's."""
        if not self._machine.cc:
            from ..host.compile import compiled, loop_words

            compiled(kernel, options)
            if options.reduction:
                loop_words(*options.reduction, residual=True)
            return
        import numba.cuda.dispatcher

        from ..cuda.compile import Target, cubin

        # Numba would ask the current device, and the contexts of all processes would fill the GPU.
        here = SimpleNamespace(compute_capability=self._machine.cc)
        numba.cuda.dispatcher.get_current_device = lambda: here
        major, minor = self._machine.cc
        cubin(kernel, name, options, Target((major, minor), self._machine.beyond))


class TeamAhead:
    """Stands for a team of n_pes PEs that makes kernels and nothing else, for an application's ``kernels``.

    me, n_pes, backend: as a team's
    """

    me = 0

    def __init__(self, machine: Machine, n_pes: int):
        self.backend, self.n_pes, self._compiler = machine.backend, n_pes, Compiler(machine)

    def kernel(
        self, kernel: Callable[..., Any], dtype: Any = DEFAULT, most_threads: int = MAX_THREADS, resident: int = 1
    ) -> AppKernel:
        """As ``Team.kernel``."""
        stands_in: Any = self._compiler
        nothing: Any = None
        return AppKernel(stands_in, nothing, nothing, kernel, dtype_of(dtype), LaunchBounds(most_threads, resident))


def rows(collective: str, machine: Machine) -> dict[str, Algorithm]:
    """The algorithms of a collective that can run on such machines; AllReduce's include those of plans."""
    table = dict(COLLECTIVES[collective].table) | (PLANNED if collective == AllReduce.name else {})
    place = Place((0, 0), not machine.beyond, multicast=not machine.cc, stores=not machine.beyond)
    return {name: row for name, row in table.items() if not row.refuse(place, "float32", "sum")}


def jobs(
    machine: Machine, counts: Sequence[int], collectives: Sequence[str], dtypes: Sequence[str], ops: Sequence[str]
) -> Iterator[Job]:
    """The kernels of the one-sided operations and of the collectives.  counts: numbers of PEs"""
    if not machine.cc:
        counts = counts[:1]  # a CPU's machine code serves any number of PEs, and any alignment
    for n_pes in counts:
        yield from (Job("", number, n_pes) for number in range(len(kernels_of(n_pes, machine.beyond))))
    for collective in collectives:
        kinds = list(itertools.product(dtypes, ops)) if collective in REDUCING else MOVED
        for name, n_pes, (dtype, op) in itertools.product(rows(collective, machine), counts, kinds):
            either = () if COLLECTIVES[collective].runs_alone else (True,)  # by counts no array is known to be aligned
            for aligned in (*either, False) if machine.cc else (True,):
                yield Job(collective, name, n_pes, dtype, op, aligned)


def of_application(machine: Machine, module: str, n_pes: int) -> list[AppKernel]:
    """The kernels of an application, whose module has a function ``kernels(team)``; each machine code once.

    Raises ImportError, AttributeError.
    """
    made: list[AppKernel] = importlib.import_module(module).kernels(TeamAhead(machine, n_pes))
    return list({one.key: one for one in made}.values())


def compile_one(machine: Machine, job: Job) -> None:
    """Compile the kernel of a job into the cache, with the same arguments as a team."""
    if not job.what:
        Compiler(machine).kernel(*kernels_of(job.n_pes, machine.beyond)[int(job.which)])
    elif job.what in COLLECTIVES:
        row = rows(job.what, machine)[str(job.which)]
        options = COLLECTIVES[job.what].options(row, DTYPES[job.dtype], job.op, job.n_pes, job.aligned)
        Compiler(machine).kernel(row.kernel, f"{job.what} ({row.name})", options)
    else:
        of_application(machine, job.what, job.n_pes)[int(job.which)].compile()
