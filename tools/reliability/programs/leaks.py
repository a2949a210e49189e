"""Row 19: teams are made, split, used and finalized in one process: memory, descriptors and threads stay as they are."""

import gc
import os
import threading

from counting import Count, options
from mpi4py import MPI

import pennympi
from pennympi.kernels.block import lanes, load, real, store


def twice(ctx, x, n):
    """x (n,) *= 2."""
    for i in lanes(0, n):
        store(x, i, real(2) * load(x, i))


def held():
    """(resident KiB, descriptors, threads, mappings of shared memory, MiB of the device) of this process."""
    gc.collect()
    with open("/proc/self/statm") as file:
        resident_kib = int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1024
    with open("/proc/self/maps") as file:
        shared = sum(("/dev/shm" in line or "memfd" in line) for line in file)
    device_mib = 0
    if pennympi_backend == "cuda":
        import cupy

        free, total = cupy.cuda.runtime.memGetInfo()
        device_mib = (total - free) >> 20
    return resident_kib, len(os.listdir("/proc/self/fd")), threading.active_count(), shared, device_mib


given = options(__doc__).parse_args()
world, count = MPI.COMM_WORLD, Count(MPI.COMM_WORLD)
with pennympi.init(heap_bytes=16 << 20) as whole:  # on GPUs the first team holds NVSHMEM's heap
    pennympi_backend = whole.backend
    warm = max(3, given.times // 10)
    for turn in range(given.times + warm):
        part = world.Split(turn % 2, world.rank)
        with pennympi.init(part, heap_bytes=16 << 20) as team:
            x = team.full(100, 1, "float32")
            team.allreduce(x)
            team.kernel(twice, "float32")(1, x, 100)
            team.synchronize()
            count.right(bool((x == 2 * team.n_pes).all()), f"turn {turn}: a wrong sum")
        part.Free()
        if turn == warm - 1:
            before = held()
    after = held()
names = ("KiB resident", "descriptors", "threads", "shared mappings", "MiB on the device")
for name, old, new in zip(names, before, after, strict=True):
    room = 1024 if name == "KiB resident" else 0
    count.right(new - old <= room, f"{name}: {old} before, {new} after {given.times} teams")
count.tell()
