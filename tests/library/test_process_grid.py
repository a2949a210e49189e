"""A grid of processes: teams of its rows, of its columns and of all, whose calls come in between one another's."""

import random
import time

import numpy as np
import pytest
from mpi4py import MPI
from on_device import device, same, to_numpy, write

import pennympi

pytestmark = pytest.mark.mpi

ROUNDS, CALLS, ELEMS, EMPTY = 3, 24, 40_000, -77


def split(kind, turn=0):
    """This PE's row or column; every second turn has its PEs in reverse."""
    world = MPI.COMM_WORLD
    width = next(k for k in range(world.size, 0, -1) if k * k <= world.size and world.size % k == 0)
    color = world.rank // width if kind == "row" else world.rank % width
    return world.Split(color, -world.rank if turn % 2 else world.rank)


class Part:
    """One team of this PE, and two of its arrays that the calls of a round share piece by piece."""

    def __init__(self, kind, team):
        self.kind, self.team = kind, team
        self.pes = team.gather(MPI.COMM_WORLD.rank)
        self.x, self.out, self.signals = team.empty(ELEMS, "int32"), team.empty(ELEMS, "int32"), team.signals(2)
        self.signalled = 0

    def free(self):
        for array in (self.x, self.out, self.signals):
            self.team.free(array)

    def round(self, calls):
        """Write what the calls of a round find."""
        self.wanted_x, self.wanted_out, self.end = (*np.full((2, ELEMS), EMPTY, np.int32), 0)
        self.calls = [one for one in (self.lay(*call) for call in calls) if one]
        write(self.x, self.wanted_x)
        write(self.out, np.full(ELEMS, EMPTY, np.int32))
        self.team.synchronize()
        self.team.barrier()  # nobody's put comes before this is written
        self.team.synchronize()

    def lay(self, number, name, seed):
        """A call at the next free place of x and out: (name, place, root), and what it is to leave there."""
        shared = random.Random(f"{seed} {self.kind} {self.pes}")
        n, me = len(self.pes), self.team.me
        count = n * shared.choice((1, 3, 64, 100, 500))
        start = self.end + shared.randrange(5)
        self.end = start + count
        place, root, part = slice(start, self.end), shared.randrange(n), count // n
        given = np.array([np.random.default_rng((number, pe)).integers(-999, 999, count) for pe in self.pes], np.int32)
        self.wanted_x[place] = given[me]
        x, out, mine = self.wanted_x[place], self.wanted_out[place], slice(me * part, (me + 1) * part)
        if name == "allreduce":
            out[:] = given.sum(0)
        elif name == "allreduce in place":
            return name, place, root, given.max(0)
        elif name == "all_gather":
            out[:] = given[:, :part].reshape(-1)
        elif name == "reduce_scatter":
            out[:part] = given.sum(0)[mine]
        elif name == "broadcast":
            return name, place, root, given[root]
        elif name == "reduce" and me == root:
            out[:] = given.min(0)
        elif name == "all_to_all":
            out[:] = given[:, mine].reshape(-1)
        elif name == "put_signal":
            out[:] = given[me - 1]
        elif name == "exchange":
            out[:] = given[self.partner()]
        return name, place, root, x

    def partner(self):
        me = self.team.me
        return me ^ 1 if me ^ 1 < len(self.pes) else me

    def issue(self, i, streams):
        """The i-th call of the round, on one of the streams; signals on the last, as their values may only grow."""
        team = self.team
        name, place, root, x_after = self.calls[i]
        stream = streams[-1 if name == "put_signal" else place.start % len(streams)]
        x, out, n = self.x[place], self.out[place], len(self.pes)
        part = x.size // n
        self.wanted_x[place] = x_after
        if name == "allreduce":
            team.allreduce(x, out, stream=stream)
        elif name == "allreduce in place":
            team.allreduce(x, op="max", stream=stream)
        elif name == "all_gather":
            team.all_gather(x[:part], out, stream=stream)
        elif name == "reduce_scatter":
            team.reduce_scatter(x, out[:part], stream=stream)
        elif name == "broadcast":
            team.broadcast(x, root, stream=stream)
        elif name == "reduce":
            team.reduce(x, out, "min", root, stream=stream)
        elif name == "all_to_all":
            team.all_to_all(x, out, stream=stream)
        elif name == "exchange":
            team.exchange(out, x, self.partner(), stream=stream)
        elif name == "barrier":
            team.barrier(stream)
        else:
            self.signalled += 1
            team.put_signal(out, x, self.signals[1:2], self.signalled, (team.me + 1) % n, stream=stream)
            team.wait_signal(self.signals[1:2], self.signalled, (team.me - 1) % n, stream=stream)

    def check(self):
        self.team.synchronize()
        for array, wanted in ((self.x, self.wanted_x), (self.out, self.wanted_out)):
            wrong = np.flatnonzero(to_numpy(array) != wanted)
            blamed = [call[:3] for call in self.calls if any(call[1].start <= at < call[1].stop for at in wrong)]
            assert not wrong.size, f"{self.kind} {self.pes}: {blamed or 'between the calls'}"


NAMES = (
    "allreduce", "allreduce in place", "all_gather", "reduce_scatter", "broadcast", "reduce", "all_to_all",
    "put_signal", "exchange", "barrier",
)  # fmt: skip


def test_teams_of_a_grid_interleaved(team):
    """Random calls of the row's, the column's and the world's team; after a round one of them ends and is made again."""
    shared, late = random.Random(team.n_pes), random.Random(team.me)
    comms = {kind: split(kind) for kind in ("row", "column")}
    parts = {kind: Part(kind, pennympi.init(comm)) for kind, comm in comms.items()} | {"world": Part("world", team)}
    streams = [None, team.stream(), team.stream("high")]
    number = 0
    for turn in range(ROUNDS):
        order = [(shared.choice(list(parts)), name) for name in shared.sample(NAMES * 3, CALLS)]
        calls = {kind: [] for kind in parts}
        for kind, name in order:
            number += 1
            calls[kind].append((number, name, shared.random()))
        for kind, part in parts.items():
            part.round(calls[kind])
        done = dict.fromkeys(parts, 0)
        for kind, _ in order:
            if late.randrange(10) == 0:
                time.sleep(late.random() / 1000)
            parts[kind].issue(done[kind], streams)
            done[kind] += 1
        for part in parts.values():
            part.check()
        kind = ("row", "column")[turn % 2]
        parts[kind].team.finalize()
        comms[kind].Free()
        comms[kind] = split(kind, turn + 1)
        parts[kind] = Part(kind, pennympi.init(comms[kind]))
    parts.pop("world").free()
    for kind, part in parts.items():
        part.team.finalize()
        comms[kind].Free()


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
