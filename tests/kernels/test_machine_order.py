"""The library's order of calls under the machine: every schedule of small programs, random ones, and real texts."""

from random import Random

import pytest
from machine.issued import library_order
from machine.residency import Device, Entry, explore, wander
from machine.streams import run_streams
from seed import SEED
from test_machine_residency import PROGRAMS, SLOTS, random_program

POLICIES = {
    "alone": library_order(0),
    "together": library_order(SLOTS // 2),
    "a graph on b": library_order(SLOTS // 2, "b"),
    "a graph on b, later": library_order(SLOTS // 2, "b", 2),
}


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_every_schedule_completes(name, policy):
    """Of the programs that deadlock without an order."""
    for n_pes in (2, 3):
        assert explore(Device([PROGRAMS[name][:3]] * n_pes, SLOTS, policy)) == ""


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES)
def test_a_wait_for_a_signal_finds_room(policy):
    """PE 0 waits for a signal beside calls, PE 1 sends it after them: calls leave half of the slots."""
    calls = [Entry(f"call {k}", "bc"[k], SLOTS // 2, f"lane {k}") for k in range(2)]
    waits, puts = Entry("signal", "a", 1, kind="wait"), Entry("signal", "c", 1, kind="put")
    assert explore(Device([[waits, *calls], [*calls, puts]], SLOTS, policy)) == ""


def test_random_programs():
    """None of many random programs is stuck."""
    for k in range(100):
        rng = Random(f"{SEED}/{k}")
        entries, slots = random_program(rng)
        graphs = rng.choice(("", "b", "bc"))
        policy = library_order(slots // 2, graphs, rng.randrange(4))
        found = wander(Device([entries] * rng.choice((2, 3, 4)), slots, policy), rng)
        assert not found, f"PENNYMPI_MACHINE_SEED={SEED}, program {k}: {found}"


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES)
def test_real_texts(policy):
    """Calls of two teams on three streams are right and complete."""
    for k in range(6):
        run_streams(f"{SEED}/{k}", policy, SLOTS, SLOTS // 2)
