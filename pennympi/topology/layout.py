"""Layouts: nodes that a name or a file lays over the PEs of a team, on any hosts.

A name such as ``two-nodes-of-eight`` or ``3-nodes-of-4`` gives the numbers of nodes and PEs.  A TOML file has more keys:

    [[node]]
    count = 2                        # number of such nodes (default 1)
    pes = 8                          # number of PEs of each node; or a list of PEs: [0, 2, 4, 6]
    rails = [0, 0, 1, 1, 2, 2, 3, 3] # the NIC of each PE of the node, in order (default: one NIC for each PE)

The layout changes the PEs that an algorithm sends to, but not the way to a PE's memory.
"""

import re
from pathlib import Path
from typing import Any, NamedTuple

from ..arrays.dtypes import is_int
from ..errors import TopologyError
from ..files import FileError, read_toml
from ..settings import SETTINGS, shown

WORDS = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen".split()
FORM = SETTINGS["PENNYMPI_TOPOLOGY"].form
_NAME = re.compile(r"(\w+)-nodes?-of-(\w+)")
_KEYS = ("count", "pes", "rails")


class Layout(NamedTuple):
    """Nodes laid over PEs.

    name:    name or file of the layout
    node_of, rail_of: for each PE, number of its node, and index of its NIC in the node
    """

    name: str
    node_of: tuple[int, ...]
    rail_of: tuple[int, ...]


class _Nodes(NamedTuple):
    """A [[node]] table.  listed: PEs that the table lists, or [];  rails: index of each PE's NIC, or None"""

    n_nodes: int
    size: int
    listed: list[int]
    rails: list[int] | None


def lay(name: str, n_pes: int) -> Layout:
    """The layout for ``n_pes`` PEs that has this name, or that the TOML file ``name`` holds.

    Raises TopologyError if there is no such name or file, if a key or value is wrong, or if the layout has another
    number of PEs.
    """
    named = _NAME.fullmatch(name.lower())
    tables = [_Nodes(_number(named[1], name), _number(named[2], name), [], None)] if named else _read(name)
    total = sum(table.n_nodes * table.size for table in tables)
    if total != n_pes:
        raise TopologyError(
            f"topology {name} lays {total} PEs in all, and this team has {n_pes}: "
            f"start {total} ranks, or choose another layout by PENNYMPI_TOPOLOGY or init(topology=...)"
        )
    listed = [pe for table in tables for pe in table.listed]
    wrong = next((pe for i, pe in enumerate(listed) if pe >= n_pes or pe in listed[:i]), None)
    if wrong is not None:
        how = "twice" if wrong < n_pes else "and there is no such PE"
        raise TopologyError(
            f"topology {name}: pes names {shown(listed)}, PE {wrong} {how}, but each of the PEs 0..{n_pes - 1} "
            "must be on one node"
        )
    free = iter(sorted(set(range(n_pes)) - set(listed)))
    node_of, rail_of = [0] * n_pes, [0] * n_pes
    nodes = [table for table in tables for _ in range(table.n_nodes)]
    for node, table in enumerate(nodes):
        pes = sorted(table.listed) or [next(free) for _ in range(table.size)]
        for pe, rail in zip(pes, table.rails or range(table.size), strict=True):
            node_of[pe], rail_of[pe] = node, rail
    return Layout(name, tuple(node_of), tuple(rail_of))


def _number(word: str, name: str) -> int:
    digits = word.isascii() and word.isdecimal() and len(word) < 16
    value = int(word) if digits else WORDS.index(word) if word in WORDS else 0
    if value < 1:
        raise TopologyError(f"topology {shown(name)}: {shown(word)} is neither one to sixteen nor 1 to 15 digits")
    return value


def _read(name: str) -> list[_Nodes]:
    """The [[node]] tables of a file."""
    try:
        data = read_toml(Path(name).expanduser())
    except (FileError, RuntimeError) as error:
        text = f"topology {shown(name)} is neither a known name nor a file that can be read ({error}): give {FORM}"
        raise TopologyError(text) from None
    tables = data.pop("node", None)
    if data or not isinstance(tables, list) or not tables:
        entry = next(iter(data), "no such table")[:60]
        raise TopologyError(f"topology file {name} must hold [[node]] tables and nothing else, but it holds {entry}")
    return [_nodes(f"topology {name}, [[node]] {number}", table) for number, table in enumerate(tables, 1)]


def _nodes(name: str, table: Any) -> _Nodes:
    """A [[node]] table.  Raises TopologyError."""

    def require(right: bool, key: str, wanted: str) -> None:
        if not right:
            entry = f"{key[:60]} = {shown(table[key])}" if key in table else f"{key} is missing"
            raise TopologyError(f"{name}: {entry}: give {wanted}")

    if not isinstance(table, dict):
        raise TopologyError(f"{name}: {shown(table)} is not a table")
    for key in table:
        require(key in _KEYS, key, f"no other keys than {', '.join(_KEYS)}")
    count: Any = table.get("count", 1)
    pes: Any = table.get("pes")
    rails: Any = table.get("rails")
    require(_whole(count, 1), "count", "a number of nodes from 1")
    listed = pes if isinstance(pes, list) and all(_whole(pe, 0) for pe in pes) else []
    require(bool(listed) or _whole(pes, 1), "pes", "a number of PEs from 1, or a list of PEs")
    require(count == 1 or not listed, "count", "1, or the number of PEs: several nodes can't have the same PEs")
    size = len(listed) or pes
    is_valid = isinstance(rails, list) and len(rails) == size and all(_whole(rail, 0) and rail < size for rail in rails)
    wanted = f"{size} numbers of NICs from 0 to {size - 1}, one for each PE of the node"
    require(is_valid or rails is None, "rails", wanted)
    return _Nodes(count, size, listed, rails)


def _whole(value: Any, least: int) -> bool:
    return is_int(value) and least <= value < 10**15
