"""Teams of some of the ranks."""

import numpy as np
import pytest
from mpi4py import MPI
from on_device import same

import pennympi

pytestmark = pytest.mark.mpi


def reduce_in(comm):
    with pennympi.init(comm) as part:
        assert (part.me, part.n_pes) == (comm.rank, comm.size)
        x = part.full(1000, part.me + 1, "int32")
        for _ in range(20):
            part.allreduce(x, op="max")
        assert same(x, np.full(1000, part.n_pes))


def refuse(comm):
    with pytest.raises(pennympi.Unsupported, match="one set of PEs a process: make all teams .* same communicator"):
        pennympi.init(comm)


@pytest.mark.parametrize("split", ["odd and even", "halves", "reversed", "alone"])
def test_split(team, split):
    world = MPI.COMM_WORLD
    color, key = {
        "odd and even": (world.rank % 2, world.rank),
        "halves": (2 * world.rank // world.size, world.rank),
        "reversed": (0, -world.rank),
        "alone": (world.rank, 0),
    }[split]
    comm = world.Split(color, key)
    if team.backend == "host" or world.size == 1:
        reduce_in(comm)
    else:
        refuse(comm)
    comm.Free()
    x = team.allreduce(team.full(9, 1, "int8"))  # the team of all is as good as before
    assert same(x, np.full(9, team.n_pes))
    team.free(x)


def test_comm_self(team):
    if team.backend == "host" or team.n_pes == 1:
        reduce_in(MPI.COMM_SELF)
    else:
        refuse(MPI.COMM_SELF)


def test_two_levels_at_once(team):
    if team.backend != "host":
        pytest.skip("NVSHMEM has one set of PEs a process")
    half = MPI.COMM_WORLD.Split(team.me % 2)
    with pennympi.init(half) as part:
        x, y = team.full(50, 1, "int64"), part.full(50, 1, "int64")
        for _ in range(20):
            team.allreduce(x, op="max")
            part.allreduce(y, op="sum", algorithm="ring")
            part.barrier()
        assert same(x, np.full(50, 1)) and same(y, np.full(50, part.n_pes**20))
        team.free(x)
    half.Free()


@pytest.mark.parametrize("comm", [MPI.COMM_NULL, 5, "world"], ids=["null", "5", "world"])
def test_not_a_communicator(team, comm):
    with pytest.raises(TypeError, match="not an mpi4py intra-communicator: pass MPI.COMM_WORLD or a split of it"):
        pennympi.init(comm)
