"""What the report says beside the numbers: whether its times mean anything, and where the results are."""

import os
import platform
from pathlib import Path
from typing import Any

from ..storage import xdmf


def crowd(team: Any) -> list[str]:
    """A line if more PEs than cores share a host, on the host backend.  Collective."""
    mine = platform.node(), os.sched_getaffinity(0)  # a launcher may have bound each PE to some of the host's cores
    every = team.comm.allgather(mine) if team.backend == "host" else []
    for host in sorted({name for name, _ in every}):
        usable = [cores for name, cores in every if name == host]
        n_pes, n_cores = len(usable), len(set().union(*usable))
        if n_pes > n_cores:
            return [
                f"{n_pes} PEs share {n_cores} core{'s' if n_cores > 1 else ''}: they wait for one another, "
                f"so these times and speedups say little; start at most {n_cores} to measure"
            ]
    return []


def files(written: dict[str, Path]) -> list[str]:
    """A line that names the files of --plot and --output, by option, and says what is in each."""
    what = [f"{written['--plot']} (the field and the norms, drawn)"] if "--plot" in written else []
    if output := written.get("--output"):
        what += [f"{output} (the same as numbers)", f"{xdmf.name_of(output)} (for ParaView)"]
    return [f"Written: {', '.join(what)}"] if what else []
