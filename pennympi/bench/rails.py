"""What the library's calls put on each rail between laid nodes, where the backend counts it."""

from typing import Any

import numpy as np

from ..errors import Unsupported
from ..team import Team
from ..topology import bytes_by_rail

Load = dict[str, Any]  # {"size_bytes": of the call, "out", "into": (node, rail) bytes}


def sent(team: Team) -> np.ndarray | None:
    """Bytes that this PE has put to each PE so far; None where there is one node, or nothing is counted."""
    if len(team.place.nodes) == 1:
        return None
    try:
        return team.bytes_sent()
    except Unsupported:
        return None


def load(team: Team, before: np.ndarray, size_bytes: int) -> Load:
    """What each rail has carried since ``before``.  Collective."""
    out, into = bytes_by_rail(team.place, np.array(team.gather(team.bytes_sent() - before)))
    return {"size_bytes": size_bytes, "out": out.tolist(), "into": into.tolist()}


def lines(name: str, of: Load) -> list[str]:
    """For the end of a table."""
    said = [f"# Bytes between nodes of one {name} call of {of['size_bytes']} bytes, by rail:"]
    for way in ("out", "into"):
        said += [
            f"#   node {node} {way:4s} {' '.join(f'{one:>10d}' for one in rails)}" for node, rails in enumerate(of[way])
        ]
    return said
