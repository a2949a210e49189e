"""The machine finds faults that are planted in kernels: one thing changed in each, see ``machine/mutations.py``."""

from itertools import count

import pytest
from machine.faults import Fault
from machine.halos import HALOS
from machine.mutations import Mutation, changed, mutated
from machine.network import ANY_ORDER, COPIED, IN_ORDER, POINTER
from machine.program import PLAIN, SYMMETRIC, TABLES, Case, run
from machine.sweeps import SWEEPS
from seed import SEED

from pennympi.kernels.halo import exchange as halo_exchange
from pennympi.kernels.halo.exchange import halo_ready
from pennympi.kernels.sweep import resident
from pennympi.kernels.sweep.resident import put_and_wait

MOST_PROGRAMS = 1000  # in which a planted fault has to show: most do at once, a few in one of ten
PLANTED = [
    # a wait for e-1
    ("allreduce", "ring", POINTER, Mutation("early", "wait")),
    ("allreduce", "multi_ring", IN_ORDER, Mutation("early", "wait", 0, "receive_step")),
    ("all_gather", "direct", POINTER, Mutation("early", "wait_all", 0, "exchange_rows")),
    ("allreduce", "halving_doubling", COPIED, Mutation("early", "wait")),
    # a wait that is missing
    ("broadcast", "ring", POINTER, Mutation("drop", "wait", 1)),
    ("broadcast", "packets", POINTER, Mutation("drop", "wait_all")),
    ("broadcast", "spread", POINTER, Mutation("drop", "wait_all")),
    ("reduce", "direct", POINTER, Mutation("drop", "wait")),
    ("allreduce", "nvls", POINTER, Mutation("drop", "meet_multicast", 1)),
    ("all_gather", "ring", COPIED, Mutation("drop", "wait")),
    ("all_to_allv", "pairwise", POINTER, Mutation("drop", "wait", 0, "put_piece")),
    ("all_gatherv", "pairwise", COPIED, Mutation("early", "wait", 0, "await_piece")),
    ("reduce_scatterv", "pairwise", POINTER, Mutation("drop", "signal", 0, "let_go")),
    # one buffer for two, two half buffers for four
    ("allreduce", "ring", POINTER, Mutation("one buffer")),
    ("allreduce", "one_shot_packets", POINTER, Mutation("one buffer")),
    ("allreduce", "two_shot", POINTER, Mutation("one buffer")),
    ("reduce_scatter", "direct", POINTER, Mutation("one buffer")),
    ("exchange", "put_fence_signal", POINTER, Mutation("one buffer")),
    ("reduce_scatterv", "pairwise", POINTER, Mutation("one buffer")),
    # a fence that is missing
    ("allreduce", "two_shot", ANY_ORDER, Mutation("drop", "fence")),
    ("allreduce", "hierarchical", ANY_ORDER, Mutation("drop", "fence", 0, "signal_group")),
    ("allreduce planned", "two_shot_direct", IN_ORDER, Mutation("drop", "fence")),
    ("allreduce", "one_shot", ANY_ORDER, Mutation("drop", "fence", 0, "fence_signal_all")),
    # a signal before its put, or beside it
    ("allreduce", "tree", POINTER, Mutation("signal first", "put_signal", 1, "send_up")),
    ("allreduce", "simple_ring", IN_ORDER, Mutation("signal first", "put_signal")),
    ("allreduce", "halving_doubling", ANY_ORDER, Mutation("apart", "put_signal", 0, "halve")),
    ("reduce_scatter", "ring", COPIED, Mutation("signal first", "put_signal")),
    # a message beside its place, or none
    ("all_to_all", "pairwise", POINTER, Mutation("beside", "put_signal")),
    ("all_to_allv", "pairwise", IN_ORDER, Mutation("beside", "put_signal", 0, "put_piece")),
    ("allreduce", "two_shot_packets", POINTER, Mutation("beside", "send_packets", 0, "send_parts")),
    ("allreduce", "recursive_doubling", POINTER, Mutation("drop", "put_signal", 1)),
    # a barrier of the block's warps that is missing
    ("all_gatherv", "pairwise", POINTER, Mutation("drop", "sync", 0, "exchange_parts")),
    ("all_to_allv", "pairwise", ANY_ORDER, Mutation("drop", "sync", 0, "exchange_parts")),
    ("reduce_scatterv", "pairwise", POINTER, Mutation("drop", "sync")),
    # an epoch that is not kept
    ("reduce", "ring", POINTER, Mutation("drop", "write_epoch", 0, "store_counter")),
]


def programs_until_found(case, one):
    """How many programs it takes."""
    for k in count():
        assert k < MOST_PROGRAMS, "not found"
        try:
            run(case, f"{SEED}/{k}", algorithms={case.algorithms[0][1]: one})
        except Fault:
            return k + 1


@pytest.mark.parametrize("table, name, network, mutation", PLANTED, ids=str)
def test_a_planted_fault_is_found(table, name, network, mutation):
    """In a bounded number of random programs."""
    one = mutated(TABLES[table][name], mutation)
    assert one is not None, f"the kernel of {name} has nothing to change: {mutation}"
    case = Case(((table, name),), network, PLAIN if network in (POINTER, COPIED) else SYMMETRIC)
    print(f"PENNYMPI_MACHINE_SEED={SEED}: found in {programs_until_found(case, one)} programs")


def test_a_meeting_that_does_not_wait_is_found():
    """The kernel that ends a call after copies by the copy engines."""
    one = mutated(TABLES["allreduce planned"]["two_shot_copied"], Mutation("drop", "wait_all"), "meet")
    programs_until_found(Case((("allreduce planned", "two_shot_copied"),), POINTER, SYMMETRIC), one)


def ready_too_early(ctx, k, last, of_old, of_new):
    """The neighbours' next call may write halos that the last pass has not read."""
    put_and_wait(ctx, of_old if k % 2 == 0 else of_new)
    if k < last or k % 2 == 0:
        halo_ready(ctx, of_old if k % 2 or k == last else of_new)


@pytest.mark.parametrize(
    "helper, network, mutation",
    [
        ("exchange", POINTER, ready_too_early),
        ("exchange", COPIED, Mutation("drop", "halo_ready")),
        ("exchange", IN_ORDER, Mutation("one buffer")),
        ("put_and_wait", POINTER, Mutation("drop", "halo_wait")),
        ("put_and_wait", ANY_ORDER, Mutation("drop", "halo_put")),
        ("in_turn", POINTER, Mutation("one buffer")),
    ],
    ids=lambda one: getattr(one, "__name__", str(one)),
)
def test_a_fault_planted_in_sweeps_of_one_launch_is_found(monkeypatch, helper, network, mutation):
    fault = changed(getattr(resident, helper), mutation) if isinstance(mutation, Mutation) else mutation
    monkeypatch.setattr(resident, helper, fault)
    case = Case((("sweeps", "resident"),), network, SYMMETRIC)
    programs_until_found(case, SWEEPS["resident"])


@pytest.mark.parametrize(
    "helper, network, mutation",
    [
        ("allow", POINTER, Mutation("drop", "signal")),
        ("send", POINTER, Mutation("drop", "wait")),
        ("send", POINTER, Mutation("early", "wait")),
        ("send", ANY_ORDER, Mutation("apart", "put_signal")),
        ("receive", POINTER, Mutation("drop", "wait")),
        ("receive", COPIED, Mutation("early", "wait")),
        ("receive", IN_ORDER, Mutation("drop", "put_lines")),
        ("slot", POINTER, Mutation("one buffer")),
        ("exchange_halos", IN_ORDER, Mutation("drop", "fence")),
        ("halo_wait", IN_ORDER, Mutation("drop", "fence")),
        ("halo_wait", ANY_ORDER, Mutation("drop", "fence")),
    ],
    ids=str,
)
def test_a_fault_planted_in_the_exchange_of_halos_is_found(monkeypatch, helper, network, mutation):
    monkeypatch.setattr(halo_exchange, helper, changed(getattr(halo_exchange, helper), mutation))
    programs_until_found(Case((("halo", "exchange_halos"),), network, SYMMETRIC), HALOS["exchange_halos"])
