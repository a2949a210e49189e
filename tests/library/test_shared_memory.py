"""Memory that the PEs of a node share: its set-up, its life, and the message if there is none."""

import errno
import os
import re
import resource

import numpy as np
import pytest
from limits import limited
from mpi4py import MPI
from on_device import same

import pennympi
from pennympi.job.shared_memory import PAGE_BYTES, SharedMemory
from pennympi.units import size_text

pytestmark = pytest.mark.mpi
WORLD = MPI.COMM_WORLD
ME, N_PES = WORLD.Get_rank(), WORLD.Get_size()
MIB = 1 << 20


def shared(nbytes, whole=True):
    return SharedMemory(WORLD.allgather, ME, range(N_PES), nbytes, "a test", whole)


def why_not(number):
    def make():
        raise OSError(number, os.strerror(number))

    return make


def test_memory_that_one_pe_can_not_make(monkeypatch):
    monkeypatch.setattr(os, "posix_fallocate", lambda *args: why_not(errno.ENOSPC)())
    WORLD.Barrier()
    with pytest.raises(pennympi.Unsupported, match=r"PE 0 .*the node has [\d.]+ \wiB of memory free"):
        shared(MIB)
    WORLD.Barrier()


@pytest.mark.parametrize(("which", "output"), [("NOFILE", "the table.*ulimit -n"), ("AS", "a symmetric heap.*ulimit -v")])
def test_init_without_descriptors_or_address_space_on_one_pe(team, which, output):
    """MPI's descriptors are open at this time; further descriptors are refused, and the open team goes on."""
    limit, comm, result = getattr(resource, f"RLIMIT_{which}"), WORLD.Dup(), "no error"
    WORLD.Barrier()
    os.close(lowest := os.dup(0))
    pages = int(open("/proc/self/statm").read().split()[0])
    most = lowest if which == "NOFILE" else pages * PAGE_BYTES + 64 * MIB
    with limited(limit, most if ME == N_PES - 1 else resource.getrlimit(limit)[0]):
        try:
            pennympi.init(comm, backend="host", heap_bytes=128 * MIB).finalize()
        except pennympi.PennympiError as error:
            result = str(error)
    for text in WORLD.allgather(result):
        assert re.search(f"PE {N_PES - 1} can't have {output}", text), text
    assert same(team.allreduce(team.full(10, 1, "int32")), np.full(10, N_PES))
    comm.Free()


def test_a_heap_larger_than_the_memory(team):
    for heap_bytes in (1 << 42, 1 << 46):
        with pytest.raises(
            pennympi.SymmetricHeapExhausted, match=f"cannot give {size_text(heap_bytes)} on .*ask for less by"
        ):
            pennympi.init(backend="host", heap_bytes=heap_bytes)
    team.barrier()


@pytest.mark.parametrize("odd", [0, N_PES - 1])
def test_pages_that_one_pe_can_not_have(team, monkeypatch, odd):
    """If the node has no memory for an array, every PE gets an error, and other arrays can be used."""
    with pennympi.init(backend="host", heap_bytes=64 * MIB) as small:
        x = small.full(100, 1, "int32")
        held = small._backend.heap._reserved_bytes
        fallocate = os.posix_fallocate
        if odd == ME:
            monkeypatch.setattr(os, "posix_fallocate", lambda *args: why_not(errno.ENOSPC)())
        for _ in range(2):
            with pytest.raises(pennympi.SymmetricHeapExhausted, match=f"PE {odd}: No space left"):
                small.empty(16 * MIB, "uint8")
        assert small._backend.heap._reserved_bytes == held
        monkeypatch.setattr(os, "posix_fallocate", fallocate)
        small.comm.Barrier()
        y = small.full(16 * MIB, 3, "uint8")
        assert same(small.allreduce(x), np.full(100, N_PES)) and int(y[-1]) == 3
