"""What a run measures: the implementations, and how large their buffers and the symmetric heap are."""

import importlib
import os
from typing import Any

from mpi4py import MPI

from ..errors import Unsupported
from ..kernels.algorithm import Algorithm
from ..settings import setting
from ..start import why_no_cuda
from ..team import Team
from . import plan_overrides
from .implementation import Implementation
from .memory import plain, symmetric
from .ours import Ours
from .rivals import RIVALS

WORKSPACES_BYTES = 256 << 20  # of the symmetric heap, for the library's workspaces


def algorithms(case: str) -> dict[str, Algorithm]:
    """The rows of a collective's table by name, {} if it has no table."""
    case = "allreduce" if case == "accuracy" else case
    try:
        return dict(importlib.import_module(f"..kernels.{case}", __package__).TABLE)
    except (ImportError, AttributeError):
        return {}


def on_host() -> bool:
    """True if the host backend will run."""
    return setting("PENNYMPI_BACKEND") == "host" or bool(why_no_cuda())


def default_max_bytes() -> int:
    """The default of the largest size: 64 MiB, or 1 MiB on the host with more than two PEs for each core."""
    return 1 << 20 if on_host() and MPI.COMM_WORLD.size > 2 * (os.cpu_count() or 1) else 64 << 20


def heap_bytes(max_bytes: int) -> int | None:
    """Size of a symmetric heap that holds a source and a target of ``max_bytes``; None on GPUs, where it grows."""
    return 2 * max_bytes + WORKSPACES_BYTES if on_host() else None


def implementations(team: Team, args: Any, max_bytes: int) -> tuple[list[Implementation], dict[str, str]]:
    """(this library's implementations and then the rivals', {name: why it is left out}).  Collective.

    args:      of ``python -m pennympi bench``
    max_bytes: size of a source and of a target
    Raises ValueError for an unknown name.
    """
    memory = symmetric(team) if args.symmetric or args.case == "put" else plain(team)
    refused: dict[str, str] = {}
    found: list[Implementation] = [*_ours(team, args, memory, refused)]
    for name in args.against:
        if name not in RIVALS:
            raise ValueError(f"rival {name!r} is unknown: use some of {', '.join(RIVALS)}")
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
        return [Ours(team, memory, planned=args.plan)]
    table = algorithms(args.case)
    wanted = list(table) if args.algorithm in ("each", "auto") else args.algorithm.split(",")
    found: list[Implementation] = [Ours(team, memory, planned=args.plan)] if args.algorithm == "each" else []
    for name in wanted:
        if name not in table:
            raise ValueError(f"algorithm {name!r} is unknown for {args.case}: use auto, each, {', '.join(table)}")
        why = table[name].refuse(team.place, "float32", "sum")
        if why:
            refused[name] = why
        elif changed:
            plan_overrides.check_threads(args.threads)
            swept = plan_overrides.combinations([table[name]], args.blocks, args.piece_bytes, args.threads)
            found += [Ours(team, memory, row, label, args.plan) for label, row in swept]
        else:
            found.append(Ours(team, memory, name, name, args.plan))
    return found
