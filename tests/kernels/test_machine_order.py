"""Collectives that all PEs issue in the same order complete, whatever streams and teams they use, and are right."""

import pytest
from machine.faults import Fault
from machine.streams import run_streams
from seed import SEED

SLOTS = 4  # blocks that a device runs at a time: a call may fill it


def test_calls_in_order():
    """Calls of two teams on up to three streams."""
    for k in range(30):
        run_streams(f"{SEED}/{k}", True, SLOTS)


def test_calls_without_an_order():
    """Wrong results where two calls share a workspace, deadlocks where two calls fill a device."""
    found = set()
    for k in range(1000):  # one in twelve ends in a deadlock
        try:
            run_streams(f"{SEED}/{k}", False, SLOTS)
        except Fault as fault:
            found.add(type(fault).__name__)
        if len(found) == 2:
            return
    pytest.fail(f"PENNYMPI_MACHINE_SEED={SEED}: only {found or 'nothing'} found")
