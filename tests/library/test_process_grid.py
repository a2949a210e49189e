"""A grid of processes: teams of its rows, of its columns and of all, whose calls come in between one another's."""

import random

import numpy as np
import pytest
from mpi4py import MPI
from on_device import device, same, to_numpy
from random_calls import Calls

import pennympi

pytestmark = pytest.mark.mpi


def split(kind, turn=0):
    """This PE's row or column; every second turn has its PEs in reverse."""
    world = MPI.COMM_WORLD
    width = next(k for k in range(world.size, 0, -1) if k * k <= world.size and world.size % k == 0)
    color = world.rank // width if kind == "row" else world.rank % width
    return world.Split(color, -world.rank if turn % 2 else world.rank)


def test_teams_of_a_grid_interleaved(team):
    """Random calls of the row's, the column's and the world's team; after a round one of them ends and is made again."""
    shared = random.Random(team.n_pes)
    comms = {kind: split(kind) for kind in ("row", "column")}
    teams = {kind: pennympi.init(comm) for kind, comm in comms.items()} | {"world": team}
    streams = [None, team.stream(), team.stream("high")]
    for turn in range(3):
        # What a team calls is drawn by its PEs alone; in which order the teams take their turns, by all.
        drawn = {kind: random.Random(str((turn, kind, one.gather(team.me)))) for kind, one in teams.items()}
        calls = {kind: Calls(one, drawn[kind], 20) for kind, one in teams.items()}
        for kind in shared.sample([*teams] * 20, 60):
            calls[kind].one(streams)
            if shared.random() < 0.1:
                teams[kind].barrier()
        for one in calls.values():
            one.check()
        kind = ("row", "column")[turn % 2]
        teams[kind].finalize()
        comms[kind].Free()
        comms[kind] = split(kind, turn + 1)
        teams[kind] = pennympi.init(comms[kind])
    for kind, comm in comms.items():
        teams[kind].finalize()
        comm.Free()


def test_arrays_of_three_teams_come_and_go(team):
    """No array shares a byte with one of another team, and each PE finds a peer's instance."""
    shared = random.Random(5)
    comms = [split("row"), split("column")]
    teams = [team, *(pennympi.init(comm) for comm in comms)]
    live = []
    for k in range(60):
        if live and (len(live) > 9 or shared.random() < 0.4):
            one, x = live.pop(shared.randrange(len(live)))
            one.free(x)
        else:
            one = shared.choice(teams)
            x = one.full(shared.choice((1, 63, 64, 65, 3000)), 1000 * k + one.me, "int32")
            live.append((one, x))
            left, theirs = (one.me - 1) % one.n_pes, device(one, np.zeros(x.size, np.int32))
            one.get(theirs, x, left)
            assert same(theirs, np.full(x.size, 1000 * k + left))
            one.comm.Barrier()  # nobody frees what another still looks at
        assert all((to_numpy(x) % 1000 == one.me).all() and len(set(to_numpy(x).tolist())) == 1 for one, x in live)
    for one, x in live:
        one.free(x)
    for one, comm in zip(teams[1:], comms, strict=True):
        one.finalize()
        comm.Free()


def test_an_array_of_another_team_is_refused(team):
    comm = split("row")
    with pennympi.init(comm) as row:
        theirs, mine, freed = team.zeros(10, "float32"), row.zeros(10, "float32"), row.zeros(10, "float32")
        row.free(freed)
        for call in (
            lambda: row.allreduce(theirs),
            lambda: row.allreduce(mine, theirs),
            lambda: row.put(theirs, mine, 0),
            lambda: row.peer(theirs[2:], 0),
            lambda: team.broadcast(mine),
        ):
            with pytest.raises(ValueError, match="belongs to another team: pass a copy, or an array made by this team"):
                call()
        with pytest.raises(ValueError, match="was freed"):
            row.allreduce(freed)
        row.put(mine, device(team, np.ones(10, np.float32)), row.me)  # memory of no team is anybody's
        row.quiet()
        row.synchronize()
        assert same(mine, np.ones(10))
        team.free(theirs)
    comm.Free()
