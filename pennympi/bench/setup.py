"""The set-up of a run: the implementations, and the sizes of their buffers and of the symmetric heap."""

from argparse import Namespace

from mpi4py import MPI

from ..errors import Unsupported
from ..job.memory_room import room_bytes
from ..settings import setting
from ..start import why_no_cuda
from ..team import Team
from ..units import size_text
from .baselines import make
from .cases import CASES
from .implementation import Implementation, plain, symmetric
from .this_library import ThisLibrary, algorithms

WORKSPACES_BYTES = 256 << 20  # part of the symmetric heap for the library's workspaces


def on_host() -> bool:
    """Whether the host backend will run."""
    return setting("PENNYMPI_BACKEND") == "host" or bool(why_no_cuda())


def heap_bytes(max_bytes: int) -> int | None:
    """Size of a symmetric heap that holds a source and a target of ``max_bytes``; None on GPUs, where the heap grows."""
    return 2 * max_bytes + WORKSPACES_BYTES if on_host() else None


def too_large(max_bytes: int) -> str:
    """The reason why a source and a target of ``max_bytes`` on each rank are too large for this machine, or ""."""
    n_pes, free = MPI.COMM_WORLD.size, room_bytes()
    needed = 2 * max_bytes * n_pes
    if not on_host() or needed <= free:
        return ""
    what = f"buffers of {size_text(max_bytes)} on {n_pes} ranks need {size_text(needed)} of memory"
    return f"{what}, and {size_text(free)} are free: give smaller sizes, or fewer ranks"


def check(args: Namespace) -> None:
    """Raise ValueError for arguments of ``python -m pennympi bench`` that contradict each other or this job."""
    n_pes, case, table = MPI.COMM_WORLD.size, CASES[args.case], algorithms(args.case, args.plan and args.symmetric)
    planned = [name for name in CASES if hasattr(Team, f"plan_{name}")]
    only = "in" if args.case == "broadcast" else "both" if case.in_place else "out"
    if args.root >= n_pes:
        raise ValueError(f"--root {args.root} is not one of the {n_pes} ranks: give one from 0 to {n_pes - 1}")
    if args.place not in ("both", only) and only != "both":
        raise ValueError(f"--place {args.place}: {args.case} has no such form; give {only}")
    if args.plan and args.case not in planned:
        raise ValueError(f"--plan: {args.case} has no plans; {', '.join(planned)} have")
    for name in args.algorithm.split(","):
        if name not in ("auto", "each", *table):
            known = ", ".join(["auto", "each", *table])
            raise ValueError(f"algorithm {name!r} is unknown for these calls of {args.case}: use {known}")


def implementations(team: Team, args: Namespace, nbytes: int) -> tuple[list[Implementation], dict[str, str]]:
    """(this library's implementations, then the baselines; {name: reason why it is left out}).  Collective.

    args: options of ``python -m pennympi bench``;  nbytes: size of a source and of a target
    """
    memory = symmetric(team, nbytes) if args.symmetric or args.case == "put" else plain(team, nbytes)
    table = algorithms(args.case, args.plan and args.symmetric)
    names = ["auto", *table] if args.algorithm == "each" else args.algorithm.split(",")
    options = {"sms": args.sms} if args.sms else {}
    result: list[Implementation] = [ThisLibrary(team, memory, name, args.plan, **options) for name in names]
    refused: dict[str, str] = {}
    for name in args.against:
        baseline, why = None, ""
        try:
            baseline = make(name, team, nbytes)
        except (Unsupported, ImportError) as error:
            why = str(error)
        reasons = list(filter(None, team.gather(why)))
        if reasons:
            refused[name] = reasons[0]
        elif baseline:
            result.append(baseline)
    return result, refused
