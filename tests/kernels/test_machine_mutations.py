"""The machine finds faults that are planted in kernels: one change in each, see ``machine/mutations.py``."""

from dataclasses import replace

import pytest
from machine.mutations import Mutation, plant
from machine.program import PLAIN, SYMMETRIC, TABLES, Case, run
from seed import SEED

from pennympi.kernels.halo import exchange
from pennympi.kernels.halo.exchange import halo_ready
from pennympi.kernels.sweep import exchanging, resident
from pennympi.kernels.sweep.resident import put_and_wait
from pennympi.simulator.faults import Fault
from pennympi.simulator.network import ANY_ORDER, COPIED, IN_ORDER, POINTER

pytestmark = pytest.mark.slow

PLANNED = ("allreduce planned", "sweeps", "halo")  # of which all arrays are symmetric
MOST_PROGRAMS = 100  # in which a planted fault has to show: most do at once, a few in one of five
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
    ("reduce_scatterv", "pairwise", POINTER, Mutation("drop", "signal", 0, "acknowledge")),
    # one buffer for two, two half buffers for four
    ("allreduce", "ring", POINTER, Mutation("one buffer")),
    ("allreduce", "one_shot_packets", POINTER, Mutation("one buffer")),
    ("allreduce", "two_shot", POINTER, Mutation("one buffer")),
    ("reduce_scatter", "direct", POINTER, Mutation("one buffer")),
    ("exchange", "put_fence_signal", POINTER, Mutation("one buffer")),
    ("reduce_scatterv", "pairwise", POINTER, Mutation("one buffer")),
    ("all_to_allv", "packets", POINTER, Mutation("one buffer")),
    # a fence that is missing
    ("allreduce", "two_shot", ANY_ORDER, Mutation("drop", "fence")),
    ("allreduce", "hierarchical", ANY_ORDER, Mutation("drop", "fence", 0, "signal_group")),
    ("allreduce planned", "two_shot_direct", IN_ORDER, Mutation("drop", "fence")),
    ("allreduce", "one_shot", ANY_ORDER, Mutation("drop", "fence", 0, "fence_signal_all")),
    # a signal before its put, or without a fence after it
    ("allreduce", "tree", POINTER, Mutation("signal first", "put_signal", 1, "send_up")),
    ("allreduce", "simple_ring", IN_ORDER, Mutation("signal first", "put_signal")),
    ("allreduce", "halving_doubling", ANY_ORDER, Mutation("apart", "put_signal", 0, "halve")),
    ("reduce_scatter", "ring", COPIED, Mutation("signal first", "put_signal")),
    # a message beside its place, or none
    ("all_to_all", "pairwise", POINTER, Mutation("beside", "put_signal")),
    ("all_to_allv", "pairwise", IN_ORDER, Mutation("beside", "put_signal", 0, "put_piece")),
    ("allreduce", "two_shot_packets", POINTER, Mutation("beside", "send_packets", 0, "send_parts")),
    ("all_gatherv", "packets", POINTER, Mutation("beside", "send_packets", 1, "send_message")),
    ("allreduce", "recursive_doubling", POINTER, Mutation("drop", "put_signal", 1)),
    # a missing barrier of the block's warps
    ("all_gatherv", "pairwise", POINTER, Mutation("drop", "sync", 0, "exchange_parts")),
    ("all_to_allv", "pairwise", ANY_ORDER, Mutation("drop", "sync", 0, "exchange_parts")),
    ("reduce_scatterv", "pairwise", POINTER, Mutation("drop", "sync")),
    # an epoch that is not kept
    ("reduce", "ring", POINTER, Mutation("drop", "write_epoch", 0, "store_counter")),
    ("reduce_scatterv", "packets", POINTER, Mutation("drop", "write_epoch", 0, "store_counter")),
    # sweeps of one launch
    ("sweeps", "resident", COPIED, Mutation("drop", "halo_ready", 0, "exchange")),
    ("sweeps", "resident", IN_ORDER, Mutation("one buffer", helper="exchange")),
    ("sweeps", "resident", POINTER, Mutation("drop", "halo_wait", 0, "put_and_wait")),
    ("sweeps", "resident", ANY_ORDER, Mutation("drop", "halo_put", 0, "put_and_wait")),
    ("sweeps", "resident", POINTER, Mutation("one buffer", helper="in_turn")),
    # sweeps in passes that exchange halos
    ("sweeps", "passes", POINTER, Mutation("drop", "arrive", 0, "begin")),
    ("sweeps", "passes", IN_ORDER, Mutation("drop", "wait_arrivals", 0, "begin")),
    ("sweeps", "passes", ANY_ORDER, Mutation("drop", "write_epoch", 0, "begin")),
    ("sweeps", "passes", COPIED, Mutation("drop", "halo_wait", 0, "exchange_parts")),
    # an exchange of halos
    ("halo", "exchange_halos", POINTER, Mutation("drop", "signal", 0, "allow")),
    ("halo", "exchange_halos", POINTER, Mutation("drop", "wait", 0, "send")),
    ("halo", "exchange_halos", POINTER, Mutation("early", "wait", 0, "send")),
    ("halo", "exchange_halos", ANY_ORDER, Mutation("apart", "put_signal", 0, "send")),
    ("halo", "exchange_halos", POINTER, Mutation("drop", "wait", 0, "receive")),
    ("halo", "exchange_halos", COPIED, Mutation("early", "wait", 0, "receive")),
    ("halo", "exchange_halos", IN_ORDER, Mutation("drop", "put_lines", 1, "receive")),
    ("halo", "exchange_halos", POINTER, Mutation("one buffer", helper="slot")),
    ("halo", "exchange_halos", POINTER, Mutation("drop", "receive_lines", 0, "receive")),
    ("halo", "exchange_halos", IN_ORDER, Mutation("drop", "put_lines", 0, "receive")),
    ("halo", "exchange_halos", IN_ORDER, Mutation("drop", "fence", 0, "exchange_parts")),
    ("halo", "exchange_halos", ANY_ORDER, Mutation("drop", "fence", 0, "exchange_parts")),
]
SWEEP_KERNELS = {"resident": resident.resident_kernel(put_and_wait), "passes": exchanging.exchanging_pass(put_and_wait)}


def must_be_found(table, name, network):
    """The fault shows in a bounded number of random programs."""
    case = Case(((table, name),), network, PLAIN if table not in PLANNED and network in (POINTER, COPIED) else SYMMETRIC)
    with pytest.raises(Fault):
        for k in range(MOST_PROGRAMS):
            run(case, f"{SEED}/{k}")


@pytest.mark.parametrize("table, name, network, mutation", PLANTED, ids=str)
def test_a_planted_fault_is_found(monkeypatch, table, name, network, mutation):
    if table == "sweeps":
        plant(monkeypatch, SWEEP_KERNELS[name], mutation)
    elif table == "halo":
        monkeypatch.setattr(exchange, name, plant(monkeypatch, exchange.exchange_halos, mutation))
    else:
        kernel = plant(monkeypatch, TABLES[table][name].kernel, mutation)
        monkeypatch.setitem(TABLES[table], name, replace(TABLES[table][name], kernel=kernel))
    must_be_found(table, name, network)


def test_a_meeting_that_does_not_wait_is_found(monkeypatch):
    """The kernel that ends a call after copies by the copy engines."""
    algorithms = TABLES["allreduce planned"]
    algorithm = algorithms["two_shot_copied"]
    meet = plant(monkeypatch, algorithm.meet, Mutation("drop", "wait_all"))
    monkeypatch.setitem(algorithms, "two_shot_copied", replace(algorithm, meet=meet))
    must_be_found("allreduce planned", "two_shot_copied", POINTER)


def ready_too_early(ctx, k, last, of_old, of_new):
    """The neighbours' next call may write halos that the last pass has not read."""
    put_and_wait(ctx, of_old if k % 2 == 0 else of_new)
    if k < last or k % 2 == 0:
        halo_ready(ctx, of_old if k % 2 or k == last else of_new, 1)


def test_halos_that_are_ready_too_early_are_found(monkeypatch):
    monkeypatch.setattr(resident, "exchange", ready_too_early)
    must_be_found("sweeps", "resident", POINTER)
