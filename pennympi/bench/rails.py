"""Bytes that each rail carries in one call, as the host backend counts them."""

from collections.abc import Sequence

import numpy as np

from ..errors import Unsupported
from ..team import Team
from ..topology import bytes_by_rail
from .cases import Case
from .implementation import Implementation
from .rivals import RIVALS
from .run import Run


def bytes_on_rails(
    team: Team, runner: Run, implementations: Sequence[Implementation], nbytes: int, case: Case, root: int, op: str
) -> dict[str, list[list[int]]]:
    """{implementation: [bytes out of all nodes by each rail, bytes into them]} for one call of the library's own.

    Collective.  {} on one node, and if nothing is counted (without PENNYMPI_COUNT_BYTES, or on the cuda backend).
    """
    found: dict[str, list[list[int]]] = {}
    block_elems = case.block_elems(nbytes, runner.dtype.item_bytes, team.n_pes)
    if len(team.place.nodes) == 1 or not _counted(team):
        return found
    for one in implementations:
        if one.name in RIVALS or not block_elems or one.refuse(case, runner.dtype, op):
            continue
        source, target = runner.buffers(one, block_elems, not one.has(case, False))
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
    """A table of the result of ``bytes_on_rails``, one line for each implementation.  size: of the call, in words"""
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
