"""Whatever streams, plans, teams and graphs a process uses, collectives that all PEs issue in the same order complete."""

from random import Random

import pytest
from machine.faults import Fault
from machine.residency import Device, Entry, explore, no_order, one_at_a_time, together_within, wander
from machine.streams import run_streams
from seed import SEED

SLOTS = 4
PROGRAMS = {
    "eager on a, plan on b": [Entry("eager", "a", SLOTS, "workspace"), Entry("plan", "b", SLOTS, "plan")],
    "two teams": [Entry("comm", "a", SLOTS, "comm"), Entry("dup", "b", SLOTS, "dup"), Entry("comm 2", "a", 3, "comm")],
    "a graph of three calls beside an eager one": [
        Entry("eager", "a", SLOTS, "workspace"),
        *(Entry(f"graph {k}", "b", SLOTS, "workspace") for k in range(3)),
    ],
    "three streams, half a device each": [Entry(f"call {k}", "abc"[k], SLOTS // 2, f"lane {k}") for k in range(3)],
    "a user's kernel in front of one": [
        Entry("kernel", "a", SLOTS, kind="local"),
        Entry("eager", "a", SLOTS, "workspace"),
        Entry("plan", "b", SLOTS, "plan"),
    ],
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_order_deadlocks(name):
    """The fault that there is without an order: each launch holds a device and waits for the other's other half."""
    assert any("runs" in explore(Device([PROGRAMS[name]] * n_pes, SLOTS, no_order)) for n_pes in (2, 3))


@pytest.mark.parametrize("policy", [one_at_a_time, together_within(SLOTS)], ids=["one_at_a_time", "together"])
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("n_pes", [2, 3])
def test_in_order_completes(name, policy, n_pes):
    """Every schedule of the same programs."""
    program = PROGRAMS[name][: 3 if n_pes > 2 else None]
    assert explore(Device([program] * n_pes, SLOTS, policy)) == ""


def test_small_launches_that_fit_run_at_once():
    """Two launches of half a device need no order; a budget of half a device gives them one."""
    pair = [("a", 2, "one"), ("b", 2, "two"), ("c", 2, "three")]
    assert together_within(4)(pair) == [[], [], [0]]
    assert together_within(2)(pair) == [[], [0], [0, 1]]
    assert together_within(4)([("a", 2, "one"), ("b", 2, "one")]) == [[], [0]]


@pytest.mark.parametrize("policy", [one_at_a_time, together_within(2)], ids=["one_at_a_time", "together"])
def test_a_wait_for_a_signal_finds_room(policy):
    """PE 0 waits for a signal beside a collective, PE 1 sends it after that: ordered launches leave half of the slots."""
    calls = [Entry(f"call {k}", "bc"[k], SLOTS // 2, f"lane {k}") for k in range(2)]
    waits, puts = Entry("signal", "a", 1, kind="wait"), Entry("signal", "a", 1, kind="put")
    assert explore(Device([[waits, *calls], [*calls, puts]], SLOTS, policy)) == ""
    # the put behind the collectives in their stream
    puts = Entry("signal", "c", 1, kind="put")
    assert explore(Device([[waits, *calls], [*calls, puts]], SLOTS, policy)) == ""


def random_program(rng):
    """Launches of up to four streams, all at most half of the slots, as the library's are."""
    entries, slots = [], rng.choice((2, 4, 8))
    for k in range(rng.randint(3, 10)):
        kind = rng.choice(("meet", "meet", "meet", "local"))
        blocks = rng.randint(1, slots if kind == "local" else slots // 2)
        entries.append(Entry(f"{kind} {k}", rng.choice("abcd"), blocks, f"lane {rng.randrange(3)}", kind))
    return entries, slots


@pytest.mark.parametrize("ordered", [False, True])
def test_random_programs(ordered):
    """Of many random programs some deadlock without an order, and none with it."""
    stuck = []
    for k in range(100):
        rng = Random(f"{SEED}/{k}")
        entries, slots = random_program(rng)
        policy = rng.choice((one_at_a_time, together_within(slots // 2))) if ordered else no_order
        if found := wander(Device([entries] * rng.choice((2, 3, 4)), slots, policy), rng):
            stuck.append(f"PENNYMPI_MACHINE_SEED={SEED}, program {k}: {found}")
    assert bool(stuck) != ordered, stuck[:3]


@pytest.mark.parametrize(
    "policy, most_blocks", [(one_at_a_time, SLOTS), (together_within(2), 2)], ids=["one", "together"]
)
def test_real_texts_in_order(policy, most_blocks):
    """Calls of two teams on three streams, with the texts of the library, are right and complete."""
    for k in range(10):
        run_streams(f"{SEED}/{k}", policy, SLOTS, most_blocks)


def test_real_texts_without_an_order():
    """The same calls without one: wrong results where two share a workspace, deadlocks where two fill a device."""
    found = set()
    for k in range(1000):  # one in twelve ends in a deadlock
        try:
            run_streams(f"{SEED}/{k}", no_order, SLOTS, SLOTS)
        except Fault as fault:
            found.add(type(fault).__name__)
        if len(found) == 2:
            return
    pytest.fail(f"PENNYMPI_MACHINE_SEED={SEED}: only {found or 'nothing'} found")
