"""The lives of a ``pennympi.Comm`` and of its team, and what ends them."""

import pytest
from launch import launch
from mpi4py import MPI

import pennympi

PROGRAM = """
import gc, os, resource
import numpy as np
import pennympi
from mpi4py import MPI

resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))

def held():
    gc.collect()
    with open("/proc/self/maps") as maps:
        return len(os.listdir("/proc/self/fd")), sum("memfd:pennympi" in line for line in maps)

def use(comm):
    comm.Allreduce(MPI.IN_PLACE, x := np.full(4096, 1.0))
    assert (x == comm.size).all()
    return comm

def wrapped():
    use(pennympi.Comm(MPI.COMM_WORLD))

def disconnected():
    use(pennympi.Comm(MPI.COMM_WORLD).Dup()).Disconnect()

def freed():
    use(pennympi.Comm(MPI.COMM_WORLD).Dup()).Free()

def freed_by_mpi4py():
    plain = MPI.COMM_WORLD.Dup()
    use(pennympi.Comm(plain))
    plain.Free()

def split():
    use(pennympi.Comm(MPI.COMM_WORLD).Split(0, -MPI.COMM_WORLD.rank)).Free()

def grid():
    use(pennympi.Comm(MPI.COMM_WORLD).Create_cart([MPI.COMM_WORLD.size])).Free()

for way in wrapped, disconnected, freed, freed_by_mpi4py, split, grid:
    for k in range(15):
        way()
        if k == 2:
            before = held()
    after = held()
    assert after[0] <= before[0] + 2 and after[1] <= before[1], (way, before, after)
print("ended well")
"""


def test_calls_that_make_a_communicator_each_leave_nothing():
    end = launch(2, "-c", PROGRAM, env={"PENNYMPI_TIMEOUT_S": "20"}, limit_s=60)
    assert end.rc == 0 and end.output.count("ended well") == 2, end.output


@pytest.mark.parametrize("last", ["MPI.Finalize()", "pass"])
def test_the_end_of_mpi_ends_the_teams_of_world_and_self(last):
    program = f"""
import numpy as np, pennympi
from mpi4py import MPI
for comm in MPI.COMM_WORLD, MPI.COMM_SELF:
    pennympi.Comm(comm).Allreduce(MPI.IN_PLACE, np.ones(4096))
{last}
print("ended well")
"""
    end = launch(2, "-c", program, env={"PENNYMPI_TIMEOUT_S": "20"}, limit_s=60)
    assert end.rc == 0 and end.output.count("ended well") == 2 and "Error" not in end.output, end.output


@pytest.mark.mpi
def test_wrappers_share_a_team_and_copies_do_not():
    plain = MPI.COMM_WORLD.Dup()
    first, second = pennympi.Comm(plain), pennympi.Comm(plain)
    team = first.team
    assert second.team is team
    copy = second.Dup()
    assert copy.team is not team
    copy.Free()
    with pytest.raises(pennympi.NotInitialized, match="freed"):
        copy.team  # noqa: B018
    first.Free()
    with pytest.raises(pennympi.NotInitialized, match="freed"):
        second.team  # noqa: B018
