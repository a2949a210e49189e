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
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import TopologyError

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
        tables: list[Any] = [{"count": n_nodes, "pes": each}]
    else:
        tables = _read(name)
    return _build(name, tables, n_pes)


def _number(word: str, name: str) -> int:
    value = int(word) if word.isdecimal() else NUMBERS.index(word) if word in NUMBERS else 0
    if value < 1:
        raise TopologyError(f"topology {name!r}: {word!r} is neither a number from one to sixteen nor digits")
    return value


def _read(name: str) -> list[Any]:
    """The [[node]] tables of a file."""
    path = Path(name).expanduser()
    try:
        content = tomllib.loads(path.read_text())
    except OSError as error:
        raise TopologyError(
            f"topology {name!r} is neither a known name nor a readable file ({error.strerror}): give {FORM}"
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise TopologyError(f"topology file {name} is not TOML: {error}") from None
    tables = content.pop("node", None)
    if content or not isinstance(tables, list) or not tables:
        found = ", ".join(content) or "no such table"
        raise TopologyError(f"topology file {name} must hold [[node]] tables and nothing else, but it holds {found}")
    return tables


def _build(name: str, tables: list[Any], n_pes: int) -> Layout:
    rows = [_fields(f"topology {name}, [[node]] {i}", table) for i, table in enumerate(tables)]
    sizes = [(count, pes if isinstance(pes, int) else len(pes)) for count, pes, _, _ in rows]
    total = sum(count * size for count, size in sizes)
    if total != n_pes:
        found = " and ".join(f"{count} node{'s' * (count > 1)} of {size}" for count, size in sizes)
        raise TopologyError(
            f"topology {name} lays {found}, {total} PEs in all, and this team has {n_pes}: start {total} ranks, "
            "or choose another one by PENNYMPI_TOPOLOGY or init(topology=...)"
        )
    listed = [pe for _, pes, _, _ in rows if isinstance(pes, list) for pe in pes]
    if len(set(listed)) != len(listed) or any(pe >= n_pes for pe in listed):
        raise TopologyError(
            f"topology {name}: pes names {listed}, but each of the PEs 0..{n_pes - 1} must be on one node"
        )
    free = iter(sorted(set(range(n_pes)) - set(listed)))
    node_of, rail_of = [0] * n_pes, [0] * n_pes
    names: list[tuple[str, ...]] = []
    for count, pes, rails, nics in rows:
        for _ in range(count):
            mine = pes if isinstance(pes, list) else [next(free) for _ in range(pes)]
            for pe, rail in zip(sorted(mine), rails, strict=True):
                node_of[pe], rail_of[pe] = len(names), rail
            names.append(tuple(nics))
    return Layout(name, tuple(node_of), tuple(rail_of), tuple(names) if any(names) else ())


def _fields(where: str, table: Any) -> tuple[int, int | list[int], list[int], list[str]]:
    """(count, pes, rails, nics) of one [[node]] table.  Raises TopologyError, which ``where`` begins."""
    if not isinstance(table, dict) or set(table) - set(_KEYS):
        unknown = ", ".join(sorted(set(table) - set(_KEYS))) if isinstance(table, dict) else repr(table)
        raise TopologyError(f"{where}: {unknown} is unknown; a [[node]] has {', '.join(_KEYS)}")
    count: Any = table.get("count", 1)
    pes: Any = table.get("pes")
    nics: Any = table.get("nics", [])
    if not _whole(count, 1):
        raise TopologyError(f"{where}: count = {count!r} is not a number of nodes (1 or more)")
    if not _whole(pes, 1) and not (isinstance(pes, list) and pes and all(_whole(pe, 0) for pe in pes)):
        raise TopologyError(f"{where}: pes = {pes!r} is neither a number of PEs (1 or more) nor a list of PEs")
    if isinstance(pes, list) and count > 1:
        raise TopologyError(f"{where}: count = {count} nodes can't have the same PEs {pes}: give their number")
    if not isinstance(nics, list) or not all(isinstance(nic, str) for nic in nics):
        raise TopologyError(f"{where}: nics = {nics!r} is not a list of names")
    n = len(pes) if isinstance(pes, list) else pes
    rails: Any = table.get("rails", list(range(n)))
    n_nics = len(nics) or n
    if not isinstance(rails, list) or len(rails) != n:
        raise TopologyError(f"{where}: rails = {rails!r} is not a list of {n} numbers, the NIC of each PE of the node")
    if not all(_whole(rail, 0) and rail < n_nics for rail in rails):
        raise TopologyError(f"{where}: rails = {rails!r} must be numbers of NICs of the node, 0..{n_nics - 1}")
    return count, pes, rails, nics


def _whole(value: Any, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least
