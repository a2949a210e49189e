"""The barriers of kernels/in_kernel on the adversarial machine: many blocks, any network, launch after launch."""

from random import Random

import numpy as np
import pytest
from machine.launching import KernelLaunch
from machine.team import place_for
from seed import SEED

from pennympi.kernels.block import block, is_leader, write_epoch
from pennympi.kernels.in_kernel import GridBarrier, add_to_bins, all_sum, grid_barrier_words, last_grid_barrier, no_bins
from pennympi.simulator.device import Machine
from pennympi.simulator.network import NETWORKS

PROGRAMS, BARRIERS = 12, 3
WORD_BYTES = 8


def value(pe, b, k):
    """The values that a block of a PE adds at its barrier number k."""
    return (pe * 100 + b + 1) * (k * 1000 + 1)


def summed(ctx, place: GridBarrier, out):
    """out (blocks, BARRIERS) = the sum that each block reads at each barrier of a launch."""
    epoch, b = last_grid_barrier(place), block()
    for k in range(BARRIERS):
        own = value(place.me, b, epoch + k) if is_leader() else 0
        found = all_sum(ctx, place, epoch + 1 + k, add_to_bins(no_bins(), 1.0 * own))
        write_epoch(out, b * BARRIERS + k, int(found))


def run(network, seed):
    """Some launches of BARRIERS barriers each, on PEs with different numbers of blocks."""
    rng = Random(seed)
    machine = Machine(network, place_for(rng, network), rng)
    n_pes, launches = machine.n_pes, rng.randint(1, 3)
    memory = machine.memory.allocate(grid_barrier_words(n_pes, 1) * WORD_BYTES)
    outs = [machine.memory.allocate(4 * BARRIERS * WORD_BYTES, plain=True) for _ in range(launches)]
    n_blocks = [rng.randint(1, 4) for _ in range(n_pes)]
    for pe in machine.pes:
        pe.slots = n_blocks[pe.me]
        place = GridBarrier(pe.me, n_pes, 1, memory)
        for k, out in enumerate(outs):
            pe.launches.append(KernelLaunch(f"launch {k}", summed, (pe.me, place, out), pe.slots))
    machine.run()
    for k, out in enumerate(outs):
        barriers = range(k * BARRIERS, (k + 1) * BARRIERS)
        sums = [sum(value(pe, b, m) for pe in range(n_pes) for b in range(n_blocks[pe])) for m in barriers]
        for pe in range(n_pes):
            found = machine.memory.elements(pe, out, n_blocks[pe] * BARRIERS, np.dtype("int64"))
            assert found.reshape(-1, BARRIERS).tolist() == [sums] * n_blocks[pe]


@pytest.mark.parametrize("network", NETWORKS)
def test_every_block_of_every_pe_gets_the_sum(network):
    for k in range(PROGRAMS):
        run(network, f"{SEED}/{k}")
