"""exchange: its forms, any size, changing partners, any number of PEs."""

import numpy as np
import pytest
from on_device import device, same, write

from pennympi.kernels.exchange import TABLE

pytestmark = [pytest.mark.mpi, pytest.mark.hosts(most_pes=8), pytest.mark.parametrize("form", TABLE)]
COUNTS = (0, 1, 7, 64, 1000, 16_384, 16_385, 100_001)  # int32; 16,384 are one piece


def partner_of(team, step):
    """Pairs (pe, step - pe): every PE has a partner, some are their own partner, and any two PEs meet."""
    return (step - team.me) % team.n_pes


@pytest.mark.parametrize("place", ["plain", "symmetric", "in place", "misaligned"])
def test_sizes_and_partners(team, form, place):
    make = {"plain": device, "in place": device}.get(place, lambda team, x: team.array(x))
    most = max(COUNTS) + 8
    send, recv = (make(team, np.zeros(most, np.int32)) for _ in range(2))
    at = 3 if place == "misaligned" else 0
    if place == "in place":
        recv = send
    for k, count in enumerate(COUNTS):
        step = k % team.n_pes
        values = np.arange(most, dtype=np.int32) * 64
        write(send, values + team.me)
        team.exchange(recv[2 * at : 2 * at + count], send[at : at + count], partner_of(team, step), form)
        assert same(recv[2 * at : 2 * at + count], values[at : at + count] + partner_of(team, step)), count


def test_neighbours_with_the_last_alone(team, form):
    """With an odd number of PEs, the last PE is its own partner, or stays away where it may."""
    pe = team.me ^ 1
    send, recv = (device(team, np.full(99, value, np.float64)) for value in (team.me, -1))
    for _ in range(10):
        if pe < team.n_pes:
            team.exchange(recv, send, pe, form)
        elif TABLE[form].collective:
            team.exchange(recv, send, team.me, form)
    assert same(recv, np.full(99, pe if pe < team.n_pes else team.me if TABLE[form].collective else -1))


def test_partly_overlapping_arrays_are_refused(team, form):
    x = device(team, np.zeros(100_000, np.int32))
    with pytest.raises(ValueError, match="overlap"):
        team.exchange(x[1:], x[:-1], team.me, form)
