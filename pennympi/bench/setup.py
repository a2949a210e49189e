"""What a run measures: the implementations, and how large their buffers and the symmetric heap are."""

import importlib
import os
from typing import Any

from mpi4py import MPI

from ..errors import Unsupported
from ..job.shared_memory import room_bytes
from ..kernels.algorithm import Algorithm
from ..settings import setting
from ..start import why_no_cuda
from ..team import Team
from . import plan_overrides, sizes
from .cases import CASES
from .implementation import Implementation
from .memory import plain, symmetric
from .ours import Ours
from .rivals import RIVALS

RANKS_A_CORE = 2  # at most, for sizes to go as far as on a GPU
WORKSPACES_BYTES = 256 << 20  # of the symmetric heap, for the library's workspaces


def algorithms(case: str, planned: bool = False) -> dict[str, Algorithm]:
    """The rows of a collective's table by name, {} if it has no table.

    planned: also those that only plans on symmetric arrays have, which write the peers' arrays
    """
    case = "allreduce" if case == "accuracy" else case
    try:
        module = importlib.import_module(f"..kernels.{case}", __package__)
        table = module.TABLE | (getattr(module, "PLANNED", {}) if planned else {})
    except (ImportError, AttributeError):
        return {}
    return {name: row for name, row in table.items() if isinstance(row, Algorithm)}  # an exchange has forms instead


def _rows(args: Any) -> dict[str, Algorithm]:
    """The rows that a run may name."""
    return algorithms(args.case, args.plan and args.symmetric)


def on_host() -> bool:
    """True if the host backend will run."""
    return setting("PENNYMPI_BACKEND") == "host" or bool(why_no_cuda())


def default_max_bytes() -> int:
    """The default of the largest size: 64 MiB, or 1 MiB on the host with more than RANKS_A_CORE ranks for each core."""
    few_cores = MPI.COMM_WORLD.size > RANKS_A_CORE * (os.cpu_count() or 1)
    return 1 << 20 if on_host() and few_cores else 64 << 20


def heap_bytes(max_bytes: int) -> int | None:
    """Size of a symmetric heap that holds a source and a target of ``max_bytes``; None on GPUs, where it grows."""
    return 2 * max_bytes + WORKSPACES_BYTES if on_host() else None


def too_large(max_bytes: int) -> str:
    """Why a source and a target of ``max_bytes`` on each rank are too large for this machine, or "" if they are not."""
    n_pes, needed, free = MPI.COMM_WORLD.size, 2 * max_bytes * MPI.COMM_WORLD.size, room_bytes()
    if not on_host() or needed <= free:
        return ""
    return (
        f"buffers of {sizes.show(max_bytes)} on {n_pes} ranks need {sizes.show(needed)} of memory, and "
        f"{sizes.show(free)} are free: give smaller sizes, or fewer ranks"
    )


def check(args: Any) -> None:
    """Raise ValueError for arguments of ``python -m pennympi bench`` that contradict one another or this job."""
    n_pes, table = MPI.COMM_WORLD.size, _rows(args)
    case = CASES.get(args.case)
    if args.root >= n_pes:
        raise ValueError(f"--root {args.root} is not one of the {n_pes} ranks: give one from 0 to {n_pes - 1}")
    if args.root and not (case and case.rooted):
        raise ValueError(f"--root {args.root}: {args.case} has no root; broadcast and reduce have one")
    if case and not case.in_place and args.place == "in":
        raise ValueError(f"--place in: {args.case} has no in-place form; give out")
    if args.case == "broadcast" and args.place == "out":
        raise ValueError("--place out: broadcast has only an in-place form; give in")
    if args.graph and on_host():
        raise ValueError("--graph needs a GPU: leave it out on the host backend")
    if args.plan and not hasattr(Team, f"plan_{args.case}"):
        planned = [name for name in CASES if hasattr(Team, f"plan_{name}")]
        raise ValueError(f"--plan: {args.case} has no plans; {', '.join(planned)} have")
    changed = args.blocks or args.piece_bytes or args.threads
    if not table and (changed or (args.algorithm or "auto") != "auto"):
        raise ValueError(f"{args.case} has no algorithms: leave --algorithm, --blocks, --piece-bytes and --threads out")
    if args.floor and n_pes < 2:
        raise ValueError("--floor measures a hop to another PE, for times: start two ranks or more")
    if args.order != "any" and args.case != "allreduce":
        raise ValueError(f"--order {args.order}: {args.case} has no order; allreduce has")
    if (args.sms or args.order != "any") and ((args.algorithm or "auto") != "auto" or changed):
        raise ValueError("--sms and --order measure the library's own choice: leave --algorithm and its plan out")
    if args.sms and not table:
        raise ValueError(f"--sms: {args.case} holds no multiprocessors; {', '.join(filter(algorithms, CASES))} do")
    wanted = [] if args.algorithm in (None, "each") else args.algorithm.split(",")
    for name in wanted:
        if name == "auto" or name in table:
            continue
        if name in algorithms(args.case, planned=True):
            raise ValueError(f"algorithm {name!r} is for plans on symmetric arrays: give --plan and --symmetric")
        raise ValueError(f"algorithm {name!r} is unknown for {args.case}: use auto, each, {', '.join(table)}")


def implementations(team: Team, args: Any, max_bytes: int) -> tuple[list[Implementation], dict[str, str]]:
    """(this library's implementations and then the rivals', {name: why it is left out}).  Collective.

    args:      of ``python -m pennympi bench``
    max_bytes: size of a source and of a target
    """
    memory = symmetric(team) if args.symmetric or args.case == "put" else plain(team)
    refused: dict[str, str] = {}
    found: list[Implementation] = [*_ours(team, args, memory, refused)]
    for name in args.against:
        try:
            rival: Implementation | None = RIVALS[name](team)
            why = ""
        except (Unsupported, ImportError) as error:
            rival, why = None, str(error)
        reasons = [reason for reason in team.gather(why) if reason]
        if rival is None or reasons:
            refused[name] = reasons[0]
            continue
        if not rival.on_device and not args.symmetric and team.backend == "host":
            rival.memory = memory  # the same buffers for both
        if name == "nccl" and not args.symmetric:
            rival.memory = memory
        found.append(rival)
    for one in found:
        one.memory.grow(max_bytes)
    return found, refused


def _ours(team: Team, args: Any, memory: Any, refused: dict[str, str]) -> list[Implementation]:
    """One implementation for the library's own choice, or one for each algorithm and plan in ``args``."""
    changed = args.blocks or args.piece_bytes or args.threads
    if args.algorithm == "auto" and not changed:
        told: list[tuple[str, Any]] = [("sms", k) for k in args.sms]
        told += [("order", args.order)] if args.order != "any" else []
        others = [Ours(team, memory, "auto", f"pennympi {name}={one}", args.plan, **{name: one}) for name, one in told]
        return [Ours(team, memory, planned=args.plan), *others]
    table = _rows(args)
    every = list(table) if changed else ["auto", *table]
    found: list[Implementation] = []
    for name in every if args.algorithm in ("auto", "each") else args.algorithm.split(","):
        if name == "auto":
            found.append(Ours(team, memory, planned=args.plan))
            continue
        why = table[name].refuse(team.place, "float32", "sum")
        if why:
            refused[name] = why
        elif changed:
            swept = plan_overrides.combinations([table[name]], args.blocks, args.piece_bytes, args.threads)
            found += [Ours(team, memory, row, label, args.plan) for label, row in swept]
        else:
            found.append(Ours(team, memory, name, name, args.plan))
    return found
