"""Compile kernels into the cache, in parallel, so that no run has to; for a GPU that this machine need not have."""

import argparse
import os
import re
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from typing import Any

from mpi4py import MPI

from ..arrays.dtypes import TABLE as DTYPES
from ..arrays.operators import NAMES as OPS
from ..bench import setup
from ..bench.progress import Progress
from ..compile.announce import announce_from_here
from ..settings import setting
from .ahead import COLLECTIVES, Job, Machine, compile_one, jobs, of_application
from .arguments import listed, names, whole
from .ended import FAILED, WRONG_USE, Ended, tell

HELP = "compile kernels into the cache beforehand"
DEFAULT_DTYPES = ["float32", "float64", "bfloat16", "int64"]


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add = parser.add_argument
    add("pes", type=listed(whole(1, 1 << 16)), help="numbers of PEs, such as 2,4,8")
    text = "of the GPU, such as sm_90; then none is needed (this machine's GPU, else its CPU)"
    add("--arch", type=_arch, default=(), metavar="SM", help=text)
    text = f"some of {', '.join(COLLECTIVES)}, or all (allreduce)"
    add("--collectives", type=names(COLLECTIVES, "collective"), default=["allreduce"], help=text)
    text = f"dtypes, or all ({','.join(DEFAULT_DTYPES)})"
    add("-d", "--datatype", type=names(DTYPES, "dtype"), default=DEFAULT_DTYPES, help=text)
    add("-o", "--op", type=names(OPS, "op"), default=["sum"], help="some of sum, prod, min, max and avg, or all (sum)")
    text = "also the kernels that the function kernels(team) of a module returns, such as apps.jacobi.ahead, the solver's"
    add("--kernels-of", action="append", default=[], metavar="MODULE", help=text)
    add("--beyond", action="store_true", help="for peers that only NVSHMEM's puts reach; needs NVSHMEM's headers")
    text = "processes that compile at a time (%(default)d, as many as there are cores)"
    add("-j", "--jobs", type=whole(1, 1024), default=len(os.sched_getaffinity(0)), help=text)


def _arch(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"(?:sm_)?([0-9]{1,2})([0-9])", text)
    if not found:
        raise argparse.ArgumentTypeError(f"{text!r} is not an architecture such as sm_90")
    return int(found[1]), int(found[2])


def problem(args: argparse.Namespace) -> str:
    """What is wrong with arguments that are right one by one, in a sentence, or "" ."""
    if MPI.COMM_WORLD.size > 1:
        return "start it without mpirun: it compiles on all cores of this machine by itself"
    if args.beyond and not args.arch and setup.on_host():
        return "--beyond is for GPUs, and this machine has none: give --arch sm_90, or that of the GPU"
    return ""


def run(args: argparse.Namespace) -> int:
    """Compile all that is asked for.  Raises Ended."""
    machine = Machine(args.arch or _own_arch(), args.beyond)
    wanted, begin = list(_wanted(machine, args)), time.monotonic()
    _compile(machine, wanted, args.jobs)
    took_s = time.monotonic() - begin
    tell(f"{len(wanted)} kernels for {_named(machine)} in {took_s:.0f} s, kept in {setting('PENNYMPI_CACHE_DIR')}")
    return 0


def _own_arch() -> tuple[int, ...]:
    """The compute capability of this machine's GPU, or ()."""
    if setup.on_host():
        return ()
    import cupy

    facts = cupy.cuda.runtime.getDeviceProperties(0)
    return facts["major"], facts["minor"]


def _named(machine: Machine) -> str:
    return f"sm_{machine.cc[0]}{machine.cc[1]}" if machine.cc else "this CPU"


def _wanted(machine: Machine, args: argparse.Namespace) -> Iterator[Job]:
    """The jobs, those of applications first, since their kernels are the longest.  Raises Ended."""
    for module in args.kernels_of:
        for n_pes in args.pes:
            try:
                count = len(of_application(machine, module, n_pes))
            except (ImportError, AttributeError) as error:
                raise Ended(f"--kernels-of {module}: {error}; give a module that has kernels(team)", WRONG_USE) from None
            yield from (Job(module, number, n_pes) for number in range(count))
    yield from jobs(machine, args.pes, args.collectives, args.datatype, args.op)


def _begin_quietly() -> None:
    announce_from_here(False)


def _compile(machine: Machine, wanted: list[Job], n_processes: int) -> None:
    """Do all jobs, each in one of several processes.  Raises Ended for the first that fails."""
    # They have no use for MPI, whose start takes time.
    os.environ["MPI4PY_RC_INITIALIZE"] = "0"
    progress = Progress(len(wanted), True)
    # Spawned, because a forked process cannot use what its parent has started of MPI and CUDA.
    pool = ProcessPoolExecutor(min(n_processes, len(wanted)), get_context("spawn"), _begin_quietly)
    with pool:
        under_way: dict[Any, Job] = {pool.submit(compile_one, machine, job): job for job in wanted}
        for done in as_completed(under_way):
            job = under_way[done]
            words = f"{job.what or 'one-sided'} {job.which} {job.dtype}".strip()
            if error := done.exception():
                pool.shutdown(wait=False, cancel_futures=True)
                raise Ended(f"{words} can't be compiled for {_named(machine)}: {error}", FAILED)
            progress.step(words)
    progress.close()
