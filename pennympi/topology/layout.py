"""Nodes laid over the PEs of a team by a name or a file, whatever hosts the PEs run on.

A name such as ``two-nodes-of-eight`` or ``3-nodes-of-4`` gives the numbers of nodes and PEs.  A TOML file can say more:

    [[node]]
    count = 2                        # how many such nodes there are (default 1)
    pes = 8                          # PEs of each node, taken in order; or a list of PEs: [0, 2, 4, 6]
    rails = [0, 0, 1, 1, 2, 2, 3, 3] # the NIC of each PE of the node, in order (default: one NIC for each PE)
    nics = ["mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3"]   # names of the NICs (default: none)

The layout decides which PE an algorithm sends to.  How the memory of a PE is reached does not change.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import TopologyError
from ..files import FileError, TomlFile, read_text, toml
from ..settings import shown

NUMBERS = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen".split()
FORM = "auto, N-nodes-of-M (two-nodes-of-eight, 4-nodes-of-4) or a TOML file"
_NAME = re.compile(r"(\w+)-nodes?-of-(\w+)")
_KEYS = ("count", "pes", "rails", "nics")


@dataclass(frozen=True)
class Layout:
    """Nodes laid over PEs.

    name:    the name or file that was given
    node_of, rail_of: for each PE, the number of its node, and of its NIC in that node
    nics:    for each node, the names of its NICs; () if no node names any
    """

    name: str
    node_of: tuple[int, ...]
    rail_of: tuple[int, ...]
    nics: tuple[tuple[str, ...], ...] = ()


def lay(name: str, n_pes: int) -> Layout:
    """The layout for ``n_pes`` PEs that ``name`` stands for, or that the TOML file at ``name`` holds.

    Raises TopologyError if there is no such name or file, if a key or value is wrong, or if the layout has another
    number of PEs.
    """
    named = _NAME.fullmatch(name.lower())
    if named:
        n_nodes, each = (_number(word, name) for word in named.groups())
        return _build(name, [_Node(n_nodes, each, None, [])], n_pes)
    return _build(name, _read(name), n_pes)


def _number(word: str, name: str) -> int:
    digits = word.isascii() and word.isdecimal() and len(word) < 16
    value = int(word) if digits else NUMBERS.index(word) if word in NUMBERS else 0
    if value < 1:
        raise TopologyError(
            f"topology {shown(name)}: {shown(word)} is neither a number from one to sixteen nor 1 to 15 digits"
        )
    return value


@dataclass(frozen=True)
class _Node:
    """One [[node]] table; rails is None where it gives none."""

    count: int
    pes: int | list[int]
    rails: list[int] | None
    nics: list[str]

    @property
    def size(self) -> int:
        return self.pes if isinstance(self.pes, int) else len(self.pes)


def _read(name: str) -> list[_Node]:
    """The [[node]] tables of a file."""
    try:
        path = Path(name).expanduser()
        text = read_text(path)
    except (FileError, RuntimeError) as error:
        raise TopologyError(
            f"topology {shown(name)} is neither a known name nor a readable file ({error}): give {FORM}"
        ) from None
    try:
        file = toml(text, str(path))
    except FileError as error:
        raise TopologyError(f"topology file {error}; see `[[node]]` in docs/guides/hosts.md") from None
    tables = file.data.get("node")
    unknown = next((key for key in file.data if key != "node"), "")
    if unknown or not isinstance(tables, list) or not tables:
        found = f"{unknown[:60]} ({file.line(unknown)})" if unknown else "no such table"
        raise TopologyError(f"topology file {file.name} must hold [[node]] tables and nothing else, but it holds {found}")
    return [_node(file, number, table) for number, table in enumerate(tables)]


def _node(file: TomlFile, number: int, table: Any) -> _Node:
    """The ``number``-th [[node]] table.  Raises TopologyError, which names the line."""

    def check(right: bool, key: str, said: str) -> None:
        if not right:
            raise TopologyError(f"topology {file.line(key, 'node', number)}: {said}")

    if not isinstance(table, dict):
        raise TopologyError(f"topology {file.name}: node = {shown(table)} is not a [[node]] table")
    unknown = next((key for key in table if key not in _KEYS), "")
    check(not unknown, unknown, f"{unknown[:60]} is unknown; a [[node]] has {', '.join(_KEYS)}")
    values: tuple[Any, ...] = table.get("count", 1), table.get("pes"), table.get("rails"), table.get("nics", [])
    count, pes, rails, nics = values
    check(_whole(count, 1), "count", f"count = {shown(count)} is not a number of nodes (1 or more)")
    listed = isinstance(pes, list) and pes and all(_whole(pe, 0) for pe in pes)
    many = f"pes = {shown(pes)} is neither a number of PEs (1 or more) nor a list of PEs"
    check(_whole(pes, 1) or bool(listed), "pes", many)
    several = f"count = {count} nodes can't have the same PEs {shown(pes)}: give their number"
    check(not listed or count == 1, "count", several)
    named = isinstance(nics, list) and all(isinstance(nic, str) for nic in nics)
    check(named, "nics", f"nics = {shown(nics)} is not a list of names")
    node = _Node(count, pes, rails, nics)
    each = f"rails = {shown(rails)} is not a list of {node.size} numbers, the NIC of each PE of the node"
    check(rails is None or (isinstance(rails, list) and len(rails) == node.size), "rails", each)
    n_nics = len(nics) or node.size
    fitting = all(_whole(rail, 0) and rail < n_nics for rail in rails) if rails is not None else node.size <= n_nics
    wrong = f"rails = {shown(rails)} must be numbers of NICs of the node, 0..{n_nics - 1}"
    fewer = f"{node.size} PEs have {n_nics} NICs: give rails, the NIC of each PE"
    check(fitting, "nics" if rails is None else "rails", fewer if rails is None else wrong)
    return node


def _whole(value: Any, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value < 10**15


def _build(name: str, nodes: list[_Node], n_pes: int) -> Layout:
    total = sum(node.count * node.size for node in nodes)
    if total != n_pes:
        found = " and ".join(f"{node.count} node{'s' * (node.count > 1)} of {node.size}" for node in nodes[:4])
        more = " and others" if len(nodes) > 4 else ""
        raise TopologyError(
            f"topology {name} lays {found}{more}, {total} PEs in all, and this team has {n_pes}: "
            f"start {total} ranks, or choose another one by PENNYMPI_TOPOLOGY or init(topology=...)"
        )
    listed = [pe for node in nodes if isinstance(node.pes, list) for pe in node.pes]
    wrong = next((pe for i, pe in enumerate(listed) if pe >= n_pes or pe in listed[:i]), None)
    if wrong is not None:
        why = "twice" if wrong < n_pes else "and there is no such PE"
        raise TopologyError(
            f"topology {name}: pes names {shown(listed)}, PE {wrong} {why}, but each of the PEs 0..{n_pes - 1} "
            "must be on one node"
        )
    free = iter(sorted(set(range(n_pes)) - set(listed)))
    node_of, rail_of = [0] * n_pes, [0] * n_pes
    names: list[tuple[str, ...]] = []
    for node in nodes:
        for _ in range(node.count):
            mine = node.pes if isinstance(node.pes, list) else [next(free) for _ in range(node.pes)]
            rails = range(node.size) if node.rails is None else node.rails
            for pe, rail in zip(sorted(mine), rails, strict=True):
                node_of[pe], rail_of[pe] = len(names), rail
            names.append(tuple(node.nics))
    return Layout(name, tuple(node_of), tuple(rail_of), tuple(names) if any(names) else ())
