"""The end of a team over several nodes of CPUs: MPI must not deliver its messages to the next communicator."""

import numpy as np
import pytest
from mpi4py import MPI
from on_device import same

import pennympi
from pennympi.host.device.remote import N_CHANNELS
from pennympi.host.runtime.network import Channel
from pennympi.state import state

pytestmark = [pytest.mark.mpi(min_size=2), pytest.mark.hosts]
PUTS = 1000  # more than are received at once


@pytest.fixture
def hold(team, monkeypatch):
    """A function that ends a team; until then this PE receives nothing.  Each PE is a node of its own."""
    if team.backend != "host":
        pytest.skip("NVSHMEM carries what GPUs send between nodes")
    monkeypatch.setenv("PENNYMPI_NODE", f"node{team.me}")
    close = Channel.close

    def begin():
        words = state.network.words
        n_channels, words[N_CHANNELS] = words[N_CHANNELS], 0

        def end(channel):
            words[N_CHANNELS] = n_channels
            close(channel)

        monkeypatch.setattr(Channel, "close", end)

    return begin


def test_a_put_that_comes_late_is_of_the_team_that_ends(team, hold):
    """The next team received the message, and wrote it to memory that was no longer mapped."""
    found = []
    for turn in range(1, 4):
        with pennympi.init(team.comm, heap_bytes=1 << 24) as part:
            inbox, value = part.zeros(PUTS, "int64"), np.full(1, turn, "int64")
            hold()
            part.comm.Barrier()
            for k in range(PUTS):
                part.put(inbox[k : k + 1], value, (part.me + 1) % part.n_pes)
        found.append(same(inbox, np.full(PUTS, turn)))
    assert MPI.COMM_WORLD.allgather(found) == [[True] * 3] * team.n_pes, found
