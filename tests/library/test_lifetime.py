"""What outlives a team, an array or a failed call: memory that is read later, plans, a forked child."""

import gc
import os
import threading
from functools import partial

import numpy as np
import pytest
from collective_cases import CASES, Call
from mpi4py import MPI
from on_device import device, reaches, same, to_numpy
from refused import refused

import pennympi
from pennympi.job.rendezvous import Meetings
from pennympi.kernels.block import store

pytestmark = pytest.mark.mpi


def fill_one(ctx, x, value):
    store(x, 0, value)


def test_nothing_of_a_team_works_after_its_end_and_its_arrays_can_be_read(team):
    with pennympi.init(team.comm) as ended:
        x, out, signals = ended.full(100, ended.me, "int32"), ended.zeros(100, "int32"), ended.signals(2)
        plan, own = ended.plan_allreduce(x, out), ended.plan_allreduce(x, out, sms=1)
        gathered = ended.plan_all_gather(ended.zeros(4, "float32"), ended.zeros(4 * ended.n_pes, "float32"))
        kernel = ended.kernel(fill_one, "int32")
        kernel(1, x, ended.me)
        plan()
        neighbour = max(pe for pe in range(ended.n_pes) if reaches(ended, x, pe))
        peer, view = ended.peer(x, neighbour), out[10:20]
        ended.barrier()
        ended.synchronize()
    total, given = sum(range(team.n_pes)), Call("int32", "sum", team.n_pes, team.me, 0, 2)
    assert same(x, np.full(100, team.me)) and same(view, np.full(10, total)) and same(peer, np.full(100, neighbour))
    for call in (
        plan, own, gathered,
        lambda: kernel(1, x, 5),
        *(partial(make, ended, given, x, x) for case in CASES.values() for make in (case.run, case.plan)),
        lambda: ended.put(out, x, 0), lambda: ended.get(out, x, 0), lambda: ended.quiet(), ended.barrier,
        lambda: ended.put_signal(out, x, signals[:1], 1, 0), lambda: ended.wait_signal(signals[:1], 0),
        lambda: ended.exchange(out, x, ended.me), lambda: ended.kernel(fill_one), lambda: ended.gather(1),
        lambda: ended.empty(3), lambda: ended.full(3, 3), lambda: ended.zeros(3), lambda: ended.array([1]),
        lambda: ended.signals(1), lambda: ended.free(x), lambda: ended.peer(x, 0), lambda: ended.register(x),
        lambda: ended.unregister(x), ended.stream, ended.synchronize, ended.topology, ended.describe,
        lambda: ended.explain(8),
    ):  # fmt: skip
        refused(pennympi.NotInitialized, "is finalized: make a new one with pennympi.init", call)
    ended.finalize()
    with pennympi.init(team.comm) as later:  # it must not get the memory of living arrays
        arrays = [later.full(1000, 9, "int32") for _ in range(20)]
        assert same(later.allreduce(arrays[0]), np.full(1000, 9 * team.n_pes))
        assert same(x, np.full(100, team.me)) and same(view, np.full(10, total)) and same(peer, np.full(100, neighbour))
        assert same(later.allreduce(device(team, to_numpy(x))), np.full(100, total))


def test_memory_goes_when_the_last_array_dies(team):
    if team.backend != "host":
        pytest.skip("NVSHMEM's memory stays until the process ends")

    def heaps():
        gc.collect()  # also garbage of earlier tests
        with open("/proc/self/maps") as maps:
            return sum("memfd:pennympi" in line for line in maps)

    before = heaps()
    with pennympi.init(team.comm) as ended:
        first = ended.pe_topology.node_of.index(ended.pe_topology.node_of[ended.me])
        view = ended.peer(ended.full(10, first, "float32"), first)[2:]
    del ended
    seen = [heaps() - before, float(view[0]) - first]
    del view
    seen.append(heaps() - before)
    assert team.gather(seen) == [[1, 0, 0]] * team.n_pes


def test_a_plan_ends_with_each_of_its_arrays(team):
    x, out, other = team.full(10, 1, "int32"), team.zeros(40, "int32"), team.zeros(10, "int32")
    plans = [team.plan_allreduce(x, out[10:20]), team.plan_allreduce(x, sms=1), team.plan_allreduce(x, other)]
    plans.append(team.plan_allreduce(x, other, residual=x))
    for plan in plans:
        plan()
    team.free(out)
    after = team.zeros(40, "int32")
    refused(ValueError, "an array of this plan was freed: make the plan anew", plans[0])
    plans[2]()
    assert same(after, np.zeros(40)) and same(other, to_numpy(x) * team.n_pes)
    team.free(x)
    for plan in plans:
        refused(ValueError, "was freed", plan, None)
    team.free(after)
    team.free(other)


def test_arrays_that_are_freed_or_of_another_team_are_refused(team):
    """Views of freed arrays are refused, too, also if a new array has their memory."""
    x, kernel = team.zeros(8, "int32"), team.kernel(fill_one, "int32")
    freed, rows = team.zeros(8, "int32"), team.zeros((4, 2), "int32")
    with pennympi.init(team.comm) as other:
        foreign = other.zeros(8, "int32")
        team.free(rows)  # not earlier, since teams may share their heap
        team.free(freed)
        new = [team.full(8, 5, "int32"), team.full((4, 2), 5, "int32")]
        views = [freed, freed[2:4], freed[2:].reshape(3, 2)[1:], rows[1:3]]
        for array, why in (
            *((view, "was freed") for view in views),
            (foreign, "another team"),
            (foreign[2:], "another team"),
        ):
            array, part = array.reshape(-1), x[: array.size]
            for call in (
                partial(kernel, 1, array, 1),
                *(partial(call, array) for call in (team.allreduce, team.plan_allreduce, team.broadcast)),
                partial(team.allreduce, part, array), partial(team.allreduce, part, residual=array),
                partial(team.put, part, array, 0), partial(team.put, array, part, 0), partial(team.get, array, part, 0),
                partial(team.exchange, part, array, team.me), partial(team.peer, array, 0),
            ):  # fmt: skip
                refused(ValueError, why, call)
    assert all(same(array, np.full(array.shape, 5)) for array in new)
    kernel(1, x, 3)
    assert int(to_numpy(x)[0]) == 3
    del array
    views.clear()
    for array in new:
        team.allreduce(array[1:])  # views of living arrays


@pytest.mark.parametrize("odd", ["all", "first", "last"])
@pytest.mark.parametrize("call", ["full", "array"])
def test_a_value_that_can_not_be_set_gives_the_array_back(team, monkeypatch, call, odd):
    mine = odd == "all" or team.me == (0 if odd == "first" else team.n_pes - 1)
    held = [len(team._arrays._starts)]
    if call == "full":
        values = [300, -1, float("nan"), "x", None, 1j, [1, 2]] if mine else [3] * 7
        for value in values:
            refused((TypeError, ValueError), "value|PE .* could not set it", team.full, 1000, value, "uint8")
    else:
        copy_in = team._backend.heap.copy_in

        def fail(address, data):
            if mine:
                raise RuntimeError("can't copy")
            copy_in(address, data)

        monkeypatch.setattr(team._backend.heap, "copy_in", fail)
        for _ in range(3):
            refused((RuntimeError, ValueError), "can't copy", team.array, np.ones(1000))
        monkeypatch.undo()
    held.append(len(team._arrays._starts))
    x, y = team.full(3, True, "uint8"), team.full(3, np.float32(2), "bfloat16")
    assert held[0] == held[1] and same(team.allreduce(x), np.full(3, team.n_pes)) and float(to_numpy(y)[0]) == 2
    team.free(x)
    team.free(y)


def exchange_of(small):
    """A function that makes a plan with its own workspace of a few MiB."""
    grid = small.grid((small.n_pes << 16,), periodic=True, halo=1 << 16)
    field = grid.zeros()
    return lambda: grid.plan_exchange(field)


def test_dropped_plans_leave_their_memory_to_whoever_asks(team):
    if team.backend != "host" or team.n_pes == 1:
        pytest.skip("a GPU's heap grows, and one PE has no workspace")
    with pennympi.init(team.comm, heap_bytes=32 << 20) as small:
        exchange, x = exchange_of(small), small.full(16, small.me, "float32")
        for ask in (
            lambda: small.free(small.empty(8 << 20, "uint8")),
            lambda: exchange()(),
            lambda: small.allreduce(x, algorithm="ring"),
        ):
            plans = []
            with pytest.raises(pennympi.SymmetricHeapExhausted):
                while True:
                    plans.append(exchange())
            assert len(plans) > 5
            plans.append(plans)  # a cycle, which only garbage collection frees
            del plans
            ask()
        assert same(x, np.full(16, sum(range(small.n_pes))))


def test_a_workspace_or_a_plan_that_fails_takes_nothing(team, monkeypatch):
    with pennympi.init(team.comm) as small:
        x = small.full(16, small.me, "float32")
        small.allreduce(x, algorithm="ring")

        def fail(*args):
            raise RuntimeError("no copy engine")

        def held():
            return small._backend.heap._free.free_bytes if small.backend == "host" else 0

        before = held()
        if team.n_pes > 1:
            for name in ("fill", "copy_in"):
                monkeypatch.setattr(small._backend.heap, name, fail)
                with pytest.raises(RuntimeError, match="no copy engine"):
                    small.allreduce(x, algorithm="one_shot")
                monkeypatch.undo()
            assert held() == before
            for _ in range(20):
                monkeypatch.setattr(small._sums["any"], "with_follow_up", fail)
                refused(RuntimeError, "no copy engine", small.plan_allreduce, x)
                monkeypatch.undo()
            assert small._workspaces.count <= 2
        assert same(small.allreduce(small.full(9, 1, "int8")), np.full(9, team.n_pes))


def test_a_shape_that_no_memory_holds(team):
    for shape in (1 << 62, (1 << 32, 1 << 32), (1 << 70,), (0, 1 << 70), (1,) * 65, (1 << 63, 2)):
        for call in (team.empty, team.zeros, lambda shape: team.full(shape, 1, "int8")):
            refused(ValueError, "shape", call, shape)
    refused(pennympi.SymmetricHeapExhausted, "cannot give 256 PiB on every PE", team.empty, (1 << 29, 1 << 29), "int8")


def test_more_teams_than_mpi_has_communicators(team, monkeypatch):
    def duplicate(meetings):
        raise MPI.Exception(MPI.ERR_OTHER)

    monkeypatch.setattr(Meetings, "duplicate", duplicate)
    for _ in range(2):
        refused(pennympi.Unsupported, r"\d+ teams open, .*finalize teams", pennympi.init, team.comm)
    monkeypatch.undo()
    with pennympi.init(team.comm) as other:
        assert other.gather(team.me) == list(range(team.n_pes))


def test_teams_that_come_and_go_leave_nothing(team):
    def held():
        gc.collect()
        with open("/proc/self/statm") as statm:
            pages = int(statm.read().split()[1])
        with open("/proc/self/maps") as maps:
            mappings = len(list(maps))
        return pages, len(os.listdir("/proc/self/fd")), threading.active_count(), mappings

    before = held()
    for step in range(25 if team.n_pes < 8 else 20):
        with pennympi.init(team.comm) as one:
            one.allreduce(one.full(100, 1.0, "float32"))
            one.synchronize()
        if step == 10:
            before = held()
    after = held()
    assert after[1] <= before[1] + 3  # descriptors: the monitor opens files for a moment
    assert after[2] == before[2]  # threads
    assert after[3] <= before[3] + 10 and (after[0] - before[0]) * 4096 < 4 << 20
