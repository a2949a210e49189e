"""The memory that processes of this node may still take: the least that the system and each cgroup leave.

The limit of a cgroup also holds for all cgroups below it; Slurm sets its limit on a cgroup above that of the process.
"""

from collections.abc import Iterator
from contextlib import suppress
from itertools import accumulate
from pathlib import Path, PurePath

# For each version of cgroups: its root folder; files of limits; file of the bytes in use; name of the bytes in use that
# the kernel drops first
_UNIFIED = "", ("memory.max", "memory.high"), "memory.current", "inactive_file"
_OF_MEMORY = "memory", ("memory.limit_in_bytes",), "memory.usage_in_bytes", "total_inactive_file"


def room_bytes(root: Path = Path("/")) -> int:
    """Bytes of memory that the processes of this node may still take.  root: root folder of the system's files"""
    room = [_number(root / "proc/meminfo", "MemAvailable:") or 1 << 62]
    for version, path in _cgroups(root):
        place, limits, used, cached = version
        folders = accumulate(path.parts, PurePath.joinpath, initial=root / "sys/fs/cgroup" / place)
        for folder in map(Path, folders):
            used_bytes = _number(folder / used)
            for limit_bytes in (_number(folder / limit) for limit in limits):
                if limit_bytes is not None and used_bytes is not None:
                    dropped_bytes = _number(folder / "memory.stat", cached) or 0
                    room.append(max(0, limit_bytes - used_bytes + dropped_bytes))
    return min(room)


def _cgroups(root: Path) -> Iterator[tuple[tuple[str, tuple[str, ...], str, str], PurePath]]:
    """(version, path below the root folder) of the cgroups of this process that may limit its memory."""
    lines = []
    with suppress(OSError):
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    for line in lines or ["0::/"]:
        _, controllers, path = line.split(":", 2)
        inside = PurePath(*(part for part in path.split("/") if part != ".."))
        if not controllers:
            yield _UNIFIED, inside
        elif "memory" in controllers.split(","):
            yield _OF_MEMORY, inside


def _number(path: Path, name: str = "") -> int | None:
    """The number in a file, or in its line "name number [kB]", in bytes; None if the file has no such number."""
    with suppress(OSError, ValueError, IndexError), open(path) as file:
        for line in file:
            words = line.split()
            if not name or words[0] == name:
                return int(words[1 if name else 0]) << (10 if words[2:] == ["kB"] else 0)
    return None
