"""The memory that is left on a node: the least limit of all cgroups above a process, in both versions of cgroups."""

import pytest

from pennympi.job.memory_room import room_bytes

MIB = 1 << 20
_OF_MEMORY = "sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", 2**63 - 4096, "total_inactive_file"
FILES = {
    "0::{}": ("sys/fs/cgroup", "memory.max", "memory.current", "max", "inactive_file"),
    "4:memory:{}": _OF_MEMORY,
    "4:hugetlb,memory:{}": _OF_MEMORY,
}


def system(root, line, path, limits):
    """Files of a system with 1 GiB free.  limits: {cgroup: (limit, used, cached) in MiB}"""
    folder, limit, used, none, cached = FILES[line]
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/meminfo").write_text("MemTotal: 9 kB\nMemAvailable:    1048576 kB\n")
    (root / "proc/self/cgroup").write_text(f"9:name=systemd:/elsewhere\n{line.format(path)}\n2:cpu:/\n")
    for cgroup, (most, now, dropped) in limits.items():
        place = root / folder / cgroup
        place.mkdir(parents=True, exist_ok=True)
        (place / limit).write_text(f"{none if most is None else most * MIB}\n")
        (place / used).write_text(f"{now * MIB}\n")
        (place / "memory.stat").write_text(f"anon 5\n{cached} {dropped * MIB}\n")
    return root


@pytest.mark.parametrize("line", FILES)
@pytest.mark.parametrize("limited", ["", "job", "job/step", "job/step/task"])
def test_the_least_of_all_ancestors(tmp_path, line, limited):
    limits = {one: (900, 100, 0) for one in ("job", "job/step", "job/step/task")} | {limited: (300, 50, 20)}
    assert room_bytes(system(tmp_path, line, "/job/step/task", limits)) == 270 * MIB


@pytest.mark.parametrize("line", FILES)
def test_no_limit(tmp_path, line):
    assert room_bytes(system(tmp_path, line, "/job/step", {"job": (None, 1, 0), "job/step": (None, 1, 0)})) == 1 << 30


@pytest.mark.parametrize("line", FILES)
def test_a_container_shows_its_own_cgroup_as_the_first(tmp_path, line):
    """The folder of a cgroup may be mounted for a longer path, and a process may be outside its folder."""
    assert room_bytes(system(tmp_path, line, "/docker/0123/../x", {"": (200, 100, 0)})) == 100 * MIB


def test_what_throttles_counts_and_more_than_the_limit_is_used(tmp_path):
    root = system(tmp_path, "0::{}", "/job", {"job": (300, 100, 0)})
    (root / "sys/fs/cgroup/job/memory.high").write_text(f"{150 * MIB}\n")
    assert room_bytes(root) == 50 * MIB
    (root / "sys/fs/cgroup/job/memory.max").write_text("5\n")
    assert room_bytes(root) == 0


def test_no_files_at_all(tmp_path):
    assert room_bytes(tmp_path) == 1 << 62
