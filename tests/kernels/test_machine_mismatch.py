"""PEs that make different calls of an algorithm, simulated: a PE notices it, and none goes on with a wrong result."""

import pytest
from greenlet import getcurrent
from machine.by_counts import BY_COUNTS
from machine.mismatch import ALL, WORDS, mismatch_cases, run_mismatch, run_other_counts
from machine.mutations import helpers, replaced
from machine.program import ALGORITHMS, PLAIN, TABLES, Case, all_cases, can_run, run
from seed import SEED

from pennympi.kernels.block import DIFFERS, TAKES, write_epoch
from pennympi.simulator.faults import Fault
from pennympi.simulator.network import IN_ORDER, NETWORKS, POINTER

# Of the two networks that deliver later, the one that keeps an order hides faults that the other shows.
SHOWING = [network for network in NETWORKS if network != IN_ORDER]
CASES = mismatch_cases([case for case in all_cases() if case.network in SHOWING])


@pytest.mark.parametrize("table, name, network, differs", CASES)
def test_a_mismatch_is_noticed(table, name, network, differs):
    """By another PE's message, or, where sizes or roots differ so that none comes, by the deadline."""
    noticed = run_mismatch(table, name, network, differs, f"{SEED}/0")
    assert noticed or differs != WORDS, f"PENNYMPI_MACHINE_SEED={SEED}: a PE waited for a call of the same shape"


@pytest.mark.parametrize(
    "table, name, network",
    [(*one, network) for one in ALGORITHMS for network in SHOWING if one[0] in BY_COUNTS and can_run(*one, network)],
)
def test_another_count_is_refused(table, name, network):
    """A PE that expects another count, or has no room, refuses it; no PE writes outside its arrays or waits for ever."""
    found = [run_other_counts(table, name, network, f"{SEED}/{k}") for k in range(16)]
    assert all(why <= {TAKES, DIFFERS} for why in found)
    assert {TAKES, DIFFERS} & set().union(*found), "no PE has refused a count in any program"


def without_tag(work, counts, k):
    """``steps.load_counter`` without the tag."""
    return getcurrent().memory.words[getcurrent().pe][(counts >> 3) + k]


def as_it_is(work, epoch):
    """``steps.tag_epoch`` that adds no tag, and ``steps.untag_epoch`` that keeps it."""
    return epoch


def kept_whole(work, counts, k, epoch):
    """``steps.store_counter``, which takes the tag off without ``steps.untag_epoch``."""
    write_epoch(counts, k, epoch - work.tag)


def replace_in(patch, kernel, **others):
    for name in others.keys() & helpers(kernel).keys():
        replaced(patch, kernel, name, others[name])


@pytest.mark.parametrize("table, name", [("allreduce", "ring"), ("allreduce", "two_shot_packets"), ("reduce", "direct")])
def test_without_a_tag_a_mismatch_is_found(monkeypatch, table, name):
    """Epochs without a tag are not enough in these programs."""
    kernel = TABLES[table][name].kernel
    replace_in(monkeypatch, kernel, load_counter=without_tag, tag_epoch=as_it_is, untag_epoch=as_it_is)
    with pytest.raises(Fault):
        for k in range(1000):
            run_mismatch(table, name, POINTER, ALL, f"{SEED}/{k}")


@pytest.mark.parametrize("table, name", [("broadcast", "ring"), ("broadcast", "packets"), ("reduce", "direct")])
def test_an_answer_with_a_tag_is_found(monkeypatch, table, name):
    """The word that acknowledges an epoch may come from an earlier call: it has no tag."""
    replace_in(monkeypatch, TABLES[table][name].kernel, store_counter=kept_whole, untag_epoch=as_it_is)
    with pytest.raises(Fault, match="another call's message|wrong bytes|wait"):
        for k in range(1000):
            run(Case(((table, name),), POINTER, PLAIN), f"{SEED}/{k}")
