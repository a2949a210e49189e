"""How much memory of this machine processes may still take."""

from collections.abc import Iterator
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
LIMIT_AND_USE = (("memory.max", "memory.current"), ("memory.limit_in_bytes", "memory.usage_in_bytes"))  # of cgroups 2, 1


def host_free_bytes() -> int:
    """Free memory in bytes, as the system tells and the limits of the container and of the batch job."""
    free = [_named(Path("/proc/meminfo"), "MemAvailable:", 1024)]
    for folder in _cgroups():
        for limit, use in LIMIT_AND_USE:
            most, now = _number(folder / limit), _number(folder / use)
            cached = _named(folder / "memory.stat", "inactive_file", 1)  # which the system drops when asked
            free.append(most - now + (cached or 0) if most is not None and now is not None else None)
    return max(0, min((one for one in free if one is not None), default=1 << 62))


def _cgroups() -> Iterator[Path]:
    """The groups of this process and those around them."""
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return
    for _, controllers, path in (line.split(":", 2) for line in lines):
        if controllers in ("", "memory"):
            own = Path(path.lstrip("/"))
            yield from (ROOT / controllers / one for one in (own, *own.parents))


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):  # there is no such file, or it says "max"
        return None


def _named(path: Path, name: str, unit: int) -> int | None:
    try:
        words = [line.split() for line in path.read_text().splitlines()]
        return next((int(number) * unit for first, number, *_ in words if first == name), None)
    except (OSError, ValueError):
        return None
