"""Who takes part in a run."""

import importlib
import os
from typing import Any

from mpi4py import MPI

from ..errors import Unsupported
from ..kernels.algorithm import Algorithm
from ..settings import setting
from ..start import why_no_cuda
from ..team import Team
from . import shapes
from .contestant import Contestant
from .memory import plain, symmetric
from .ours import Ours
from .rivals import RIVALS

LANES_BYTES = 256 << 20  # what the library itself may need of the symmetric heap


def algorithms(case: str) -> dict[str, Algorithm]:
    """The algorithms of a collective by name; none where it has no table."""
    case = "allreduce" if case == "accuracy" else case
    try:
        return dict(importlib.import_module(f"..kernels.{case}", __package__).TABLE)
    except (ImportError, AttributeError):
        return {}


def on_host() -> bool:
    """Whether the host backend will run."""
    return setting("PENNYMPI_BACKEND") == "host" or bool(why_no_cuda())


def usual_most_bytes() -> int:
    """The largest size when nobody says: 64 MiB, and 1 MiB where PEs wait for cores."""
    return 1 << 20 if on_host() and MPI.COMM_WORLD.size > 2 * (os.cpu_count() or 1) else 64 << 20


def heap_bytes(most_bytes: int) -> int | None:
    """Symmetric heap of a PE that holds a source and a target, on the host backend; None elsewhere."""
    return 2 * most_bytes + LANES_BYTES if on_host() else None


def contestants(team: Team, args: Any, most_bytes: int) -> tuple[list[Contestant], dict[str, str]]:
    """(this library's, then the rivals; why some were left out).  Collective.

    most_bytes: of a source or target
    Raises ValueError for an unknown name.
    """
    memory = symmetric(team) if args.symmetric or args.case == "put" else plain(team)
    refused: dict[str, str] = {}
    found: list[Contestant] = [*_ours(team, args, memory, refused)]
    for name in args.against:
        if name not in RIVALS:
            raise ValueError(f"rival {name!r} is unknown: use some of {', '.join(RIVALS)}")
        try:
            rival: Contestant | None = RIVALS[name](team)
            why = ""
        except (Unsupported, ImportError) as error:
            rival, why = None, str(error)
        reasons = [reason for reason in team.gather(why) if reason]
        if rival is None or reasons:
            refused[name] = reasons[0]
            continue
        if not rival.on_device and not args.symmetric and team.backend == "host":
            rival.memory = memory  # the same buffers
        if name == "nccl" and not args.symmetric:
            rival.memory = memory
        found.append(rival)
    for one in found:
        one.memory.grow(most_bytes)
    return found, refused


def _ours(team: Team, args: Any, memory: Any, refused: dict[str, str]) -> list[Contestant]:
    """One contestant for the library's own choice, or one for each algorithm and shape that was asked for."""
    changed = args.blocks or args.piece_bytes or args.threads
    if args.algorithm == "auto" and not changed:
        return [Ours(team, memory, planned=args.plan)]
    table = algorithms(args.case)
    wanted = list(table) if args.algorithm in ("each", "auto") else args.algorithm.split(",")
    found: list[Contestant] = [Ours(team, memory, planned=args.plan)] if args.algorithm == "each" else []
    for name in wanted:
        if name not in table:
            raise ValueError(f"algorithm {name!r} is unknown for {args.case}: use auto, each, {', '.join(table)}")
        why = table[name].refuse(team.place, "float32", "sum")
        if why:
            refused[name] = why
        elif changed:
            shapes.check(args.threads)
            swept = shapes.sweep([table[name]], args.blocks, args.piece_bytes, args.threads)
            found += [Ours(team, memory, row, label, args.plan) for label, row in swept]
        else:
            found.append(Ours(team, memory, name, name, args.plan))
    return found
