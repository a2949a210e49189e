"""How much memory of this machine processes may still take."""

from pathlib import Path

CGROUPS = (  # (folder, limit, use) of the two versions
    ("/sys/fs/cgroup", "memory.max", "memory.current"),
    ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"),
)


def host_free_bytes() -> int:
    """Free memory in bytes, as the system and the limit of the container tell."""
    free = [_named(Path("/proc/meminfo"), "MemAvailable:", 1024)]
    for folder, limit, use in CGROUPS:
        most, now = (_number(Path(folder, name)) for name in (limit, use))
        cached = _named(Path(folder, "memory.stat"), "inactive_file", 1)  # which the system drops when asked
        free.append(most - now + (cached or 0) if most is not None and now is not None else None)
    return max(0, min((one for one in free if one is not None), default=1 << 62))


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
