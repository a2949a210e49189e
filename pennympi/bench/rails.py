"""What each rail carries in one call, by the host backend's count."""

from collections.abc import Sequence

import numpy as np

from ..errors import Unsupported
from ..team import Team
from ..topology import bytes_by_rail
from .cases import Case
from .contestant import Contestant
from .rivals import RIVALS
from .run import Run


def carried(
    team: Team, runner: Run, contestants: Sequence[Contestant], nbytes: int, case: Case, root: int, op: str
) -> dict[str, list[list[int]]]:
    """{contestant: [bytes out of the nodes, bytes into them], each by rail} of one call.  Collective.

    {} on one node, and where nothing is counted (no PENNYMPI_COUNT_BYTES, or the cuda backend).
    """
    found: dict[str, list[list[int]]] = {}
    block = case.block(nbytes, runner.dtype.item_bytes, team.n_pes)
    if len(team.place.nodes) == 1 or not _counted(team):
        return found
    for one in contestants:
        if one.name in RIVALS or not block or one.refuse(case, runner.dtype, op):
            continue
        source, target = runner.buffers(one, block, not one.has(case, False))
        before = team.bytes_sent()
        one.call(case, source, target, op, root)(None)
        team.synchronize()
        out, into = bytes_by_rail(team.place, np.array(team.gather(team.bytes_sent() - before)))
        found[one.name] = [[int(n) for n in rails.sum(axis=0)] for rails in (out, into)]
    return found


def _counted(team: Team) -> bool:
    try:
        team.bytes_sent()
    except Unsupported:
        return False
    return True


def lines(found: dict[str, list[list[int]]], size: str) -> list[str]:
    """A line for each contestant, each cell of which is the bytes out and into all nodes by one rail."""
    if not found:
        return []
    cells = {name: [f"{o}/{i}" if o != i else str(o) for o, i in zip(*both, strict=True)] for name, both in found.items()}
    n_rails = max(map(len, cells.values()))
    heads = [f"rail {rail}" for rail in range(n_rails)]
    width = max(len(cell) for row in (heads, *cells.values()) for cell in row)
    left = max(map(len, found))
    return [
        f"# Bytes between nodes in one call of {size}, all nodes together (out/in where they differ)",
        f"#  {'':{left}s}  " + " ".join(head.rjust(width) for head in heads),
        *(f"#  {name:{left}s}  " + " ".join(cell.rjust(width) for cell in row) for name, row in cells.items()),
    ]
