"""Teams of some of the ranks."""

import random

import numpy as np
import pytest
from mpi4py import MPI
from on_device import same
from random_calls import Calls

import pennympi
from pennympi.job.job import Job
from pennympi.job.membership import ranks_in_first_team

pytestmark = [pytest.mark.mpi, pytest.mark.hosts]


def reduce_in(comm):
    with pennympi.init(comm) as part:
        assert (part.me, part.n_pes) == (comm.rank, comm.size)
        x = part.full(1000, part.me + 1, "int32")
        for _ in range(20):
            part.allreduce(x, op="max")
        assert same(x, np.full(1000, part.n_pes))


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
    reduce_in(comm)
    comm.Free()
    x = team.allreduce(team.full(9, 1, "int8"))  # the team of all PEs still works
    assert same(x, np.full(9, team.n_pes))


def test_a_program_may_listen_to_any_message_where_it_makes_a_team():
    """A task farm: the library sends nothing on the program's communicator."""
    comm = MPI.COMM_WORLD.Dup()
    heard = [comm.Irecv(bytearray(4096), MPI.ANY_SOURCE, MPI.ANY_TAG) for _ in range(comm.size)]
    reduce_in(comm)
    result = MPI.COMM_WORLD.allgather([one.Test() for one in heard])
    for pe in range(comm.size):
        comm.Send(b"work", pe)
    MPI.Request.Waitall(heard)
    comm.Free()
    assert not any(map(any, result)), result


def test_a_program_may_free_its_communicator_of_a_team(team):
    with pennympi.init(team.comm) as part:
        part.comm.Free()
        assert same(part.allreduce(part.full(9, 1, "int8")), np.full(9, part.n_pes))


@pytest.fixture
def job():
    made = Job(MPI.COMM_WORLD)
    yield made
    made.close()


@pytest.mark.mpi(min_size=2)
@pytest.mark.parametrize("first", ["a part", "two halves", "not on all"])
def test_a_team_that_is_no_part_of_the_first(job, first):
    """Every PE gets the same error, whatever its first team was."""
    world = MPI.COMM_WORLD
    low, n = world.size // 2, world.size
    group, strangers = {
        "a part": (world.group.Incl(range(low)) if world.rank < low else None, range(low, n)),
        "two halves": (world.group.Incl(range(low) if world.rank < low else range(low, n)), range(n)),
        "not on all": (world.group if world.rank else None, range(1)),
    }[first]
    assert ranks_in_first_team(job, None) is None
    assert ranks_in_first_team(job, world.group) == tuple(range(n))
    assert ranks_in_first_team(job, world.group.Incl(range(n - 1, -1, -1))) == tuple(range(n - 1, -1, -1))
    names = ", ".join(map(str, list(strangers)[:8]))
    with pytest.raises(pennympi.Unsupported, match=f"PEs? {names} of .* (was|were) not .*: first make a team"):
        ranks_in_first_team(job, group)


def row_or_column(kind, turn=0):
    """The team of this PE's row or column; every second one has its PEs in reverse."""
    world = MPI.COMM_WORLD
    width = next(k for k in range(world.size, 0, -1) if k * k <= world.size and world.size % k == 0)
    color = world.rank // width if kind == "row" else world.rank % width
    return world.Split(color, -world.rank if turn % 2 else world.rank)


def test_teams_of_a_grid_interleaved(team):
    """Random calls of the teams of a row, of a column and of all; after a round one of them ends and is made again."""
    shared = random.Random(team.n_pes)
    if team.backend == "cuda":  # only this team can enlarge the heap, here for 20 workspaces of each team
        team.free(team.empty(60 * team._backend.max_blocks << 20, "uint8"))
    comms = {kind: row_or_column(kind) for kind in ("row", "column")}
    teams = {kind: pennympi.init(comm) for kind, comm in comms.items()} | {"world": team}
    streams = [None, team.stream(), team.stream("high")]
    for turn in range(3):
        # Only the PEs of a team draw its calls; all PEs draw the order in which the teams take turns.
        drawn = {kind: random.Random(str((turn, kind, one.gather(team.me)))) for kind, one in teams.items()}
        calls = {kind: Calls(one, drawn[kind], 20) for kind, one in teams.items()}
        for kind in shared.sample([*teams] * 20, 60):
            calls[kind].run_next(streams)
            if shared.random() < 0.1:
                teams[kind].barrier()
        for one in calls.values():
            one.check()
        kind = ("row", "column")[turn % 2]
        teams[kind].finalize()
        comms[kind].Free()
        comms[kind] = row_or_column(kind, turn + 1)
        teams[kind] = pennympi.init(comms[kind])
    for kind, comm in comms.items():
        teams[kind].finalize()
        comm.Free()
