"""The barriers of kernels/in_kernel on the machine that does its worst: many blocks, any network, launch after launch."""

from random import Random

import numpy as np
import pytest
from machine.device import Launch, Machine
from machine.faults import Fault
from machine.network import ANY_ORDER, NETWORKS
from machine.team import place_for, topology_of
from seed import SEED

from pennympi.kernels.block import arrive_last, block, is_leader, put_signal, signal, wait, write_epoch
from pennympi.kernels.in_kernel import (
    WORDS_BYTES,
    GridBarrier,
    add_to_bins,
    add_to_words,
    all_sum,
    give_sums,
    grid_barrier_words,
    last_grid_barrier,
    no_bins,
    read_sum,
    sums_at,
    take_sums,
    words_at,
)
from pennympi.kernels.in_kernel.all_sum import take

PROGRAMS, BARRIERS = 12, 3
WORD_BYTES = 8


def value(pe, b, k):
    """What a block of a PE adds at its barrier number k."""
    return (pe * 100 + b + 1) * (k * 1000 + 1)


def summed(ctx, place: GridBarrier, out):
    """out (blocks, BARRIERS) = what each block found at each of a launch's barriers."""
    epoch, b = last_grid_barrier(place), block()
    for k in range(BARRIERS):
        own = value(place.me, b, epoch + k) if is_leader() else 0
        found = all_sum(ctx, place, epoch + 1 + k, add_to_bins(no_bins(), 1.0 * own))
        write_epoch(out, b * BARRIERS + k, int(found))


def counted(ctx, place: GridBarrier, out):
    """The same by sums that are given and taken apart."""
    epoch, b = last_grid_barrier(place), block()
    for k in range(BARRIERS):
        own = value(place.me, b, epoch + k) if is_leader() else 0
        give_sums(ctx, place, epoch + 1 + k, (add_to_bins(no_bins(), 1.0 * own),))
        write_epoch(out, b * BARRIERS + k, int(take_sums(ctx, place, epoch + 1 + k, 0)[0]))


def run(network, seed, kernel=summed, alone=False):
    """Some launches of BARRIERS barriers each, on PEs with different numbers of blocks."""
    rng = Random(seed)
    machine = Machine(network, topology_of([0], network) if alone else place_for(rng, network), rng)
    n_pes, launches = machine.n_pes, rng.randint(1, 3)
    memory = machine.memory.allocate(grid_barrier_words(n_pes, 1) * WORD_BYTES)
    outs = [machine.memory.allocate(4 * BARRIERS * WORD_BYTES, plain=True) for _ in range(launches)]
    n_blocks = [rng.randint(1, 4) for _ in range(n_pes)]
    for pe in machine.pes:
        pe.slots = n_blocks[pe.me]
        place = GridBarrier(pe.me, n_pes, 1, memory)
        pe.issue([Launch.of(f"launch {k}", kernel, (pe.me, place, out), pe.slots) for k, out in enumerate(outs)])
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
        run(network, f"{SEED}/{k}", counted)
        run(network, f"{SEED}/{k}", counted, alone=True)


def hasty(ctx, place: GridBarrier, out):
    """A fault: a PE's words are put from where its blocks add to them, not from a copy."""
    epoch, b = last_grid_barrier(place), block()
    for k in range(BARRIERS):
        own = value(place.me, b, epoch + k) if is_leader() else 0
        add_to_words(words_at(place, 0), add_to_bins(no_bins(), 1.0 * own))
        if arrive_last(place.memory + WORD_BYTES):
            nbytes, at = WORDS_BYTES, ((epoch + 1 + k) & 1) * place.n_pes + place.me
            slot = words_at(place, 5) + 2 * place.n_pes * WORD_BYTES + at * nbytes
            for n in range(1, place.n_pes):
                to = (place.me + n) % place.n_pes
                put_signal(ctx, slot, words_at(place, 0), nbytes, words_at(place, 5) + at * WORD_BYTES, epoch + 1 + k, to)
            take(ctx, place, epoch + 1 + k)
            signal(ctx, place.memory, epoch + 1 + k, place.me)
        else:
            wait(ctx, place.memory, epoch + 1 + k, place.me)
        write_epoch(out, b * BARRIERS + k, int(read_sum(sums_at(place, 0))))


def test_words_are_put_from_a_copy():
    """A put may read its source later: without the copy the machine finds values that were added for the next barrier."""
    with pytest.raises((Fault, AssertionError)):
        for k in range(20 * PROGRAMS):
            run(ANY_ORDER, f"{SEED}/{k}", hasty)
