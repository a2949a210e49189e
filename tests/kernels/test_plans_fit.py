"""Every plan fits the inbox, at any number of PEs.  The simulator shows that kernels stay in their slots."""

import json
from collections import defaultdict
from functools import cache
from itertools import product
from pathlib import Path

import pytest
from collective_cases import TABLES

from pennympi import Unsupported
from pennympi.arrays.dtypes import TABLE as DTYPES
from pennympi.kernels.algorithm import HEAD_AND_PACKETS, MAX_THREADS, PACKETS, PARTIALS, Limits, Topology
from pennympi.kernels.allreduce import PLANNED, TABLE
from pennympi.kernels.by_counts.packets import HEAD_BYTES
from pennympi.kernels.packets import PACKET_BYTES
from pennympi.kernels.plans import cut, packed_bytes
from pennympi.selection.choose import Selection
from pennympi.selection.machine import NVLINK

ALGORITHMS = {("allreduce", name): algorithm for name, algorithm in (TABLE | PLANNED).items()}
ALGORITHMS |= {(table, name): algorithm for table, algorithms in TABLES.items() for name, algorithm in algorithms.items()}
BYTES = sorted({(dtype.item_bytes, dtype.acc_bytes) for dtype in DTYPES.values()})
HEADS = {PACKETS: 0, HEAD_AND_PACKETS: HEAD_BYTES}  # bytes of a slot of packets that carry no element
SWEEPS = Path(__file__).resolve().parents[2] / "benchmarks" / "results" / "sweeps"
N_PES = [2, 3, 8, 72, 520, 1032, 4096]
# The limits of a GPU, of a CPU, and a few blocks.
LIMITS = [Limits(132, 256 << 10), Limits(1, 1 << 20), Limits(2, 256 << 10)]
COUNTS = (1, 1 << 20, 1 << 40)


@cache
def places(n):
    """n PEs on one node, on nodes of 8, of 2 and of 1, where n is divisible by it."""
    sizes = [size for size in (n, 8, 2, 1) if n % size == 0]
    return [Topology(tuple(pe // size for pe in range(n)), size == n, size == n) for size in dict.fromkeys(sizes)]


def runs(algorithm, topology, limits):
    """Whether the algorithm runs on this topology with these limits."""
    return not algorithm.why_not(topology, "float32", "sum") and not algorithm.too_large(topology, limits)


@pytest.mark.parametrize(("table", "name"), ALGORITHMS)
def test_a_piece_fits_its_slot(table, name):
    algorithm, fitting = ALGORITHMS[table, name], 0
    for n, limits in product(N_PES, LIMITS):
        if n > 100 and limits.max_blocks == 1:
            continue  # so many PEs run on GPUs only
        for topology in places(n):
            if not runs(algorithm, topology, limits):
                continue
            fitting += 1
            slot_bytes = limits.buffer_bytes // algorithm.slots(topology, limits)
            for count, (item_bytes, acc_bytes) in product(COUNTS, BYTES):
                plan = algorithm.plan(count, item_bytes, acc_bytes, topology, limits)
                travels = plan.piece_elems * (acc_bytes if algorithm.holds == PARTIALS else item_bytes)
                room = slot_bytes
                if algorithm.holds in HEADS:
                    room = packed_bytes((slot_bytes - HEADS[algorithm.holds]) // PACKET_BYTES * PACKET_BYTES)
                case = (n, len(topology.nodes), limits, count, item_bytes, plan)
                assert 0 < travels <= room // 16 * 16 and plan.piece_elems * item_bytes % 16 == 0, case
                assert 0 < plan.blocks <= limits.max_blocks and plan.threads <= MAX_THREADS, case
    assert fitting


def test_a_slot_too_small_is_refused():
    with pytest.raises(ValueError, match="should have refused"):
        cut(100, 4, 0)
    assert cut(100, 1, 2) == 2 and cut(1000, 1, 24) == 16 and cut(3, 1, 100) == 16 and cut(100, 2, 7) == 4
    topology, limits = Topology((0,) * 600, ll128_safe=False), Limits(132, 256 << 10)
    assert "600 PEs" in TABLE["multi_ring"].too_large(topology, limits)
    choice = Selection(topology, limits, NVLINK, None, "600 GPUs")
    with pytest.raises(Unsupported, match="multi_ring can't run here: at 600 PEs its .* use algorithm='auto'"):
        choice.choose("multi_ring", 8, "float32", "sum")


@pytest.mark.parametrize("n", [520, 1024, 4096])
def test_auto_chooses_what_fits(n):
    limits = Limits(132, 256 << 10)
    for topology, nbytes, dtype in product(places(n), (8, 1 << 20, 1 << 30), ("float16", "float64")):
        algorithm = Selection(topology, limits, NVLINK, None, "GPUs").choose("auto", nbytes, dtype, "sum")
        assert runs(algorithm, topology, limits)


@pytest.mark.parametrize("path", sorted(SWEEPS.glob("*.json")), ids=lambda path: path.stem)
def test_the_best_shapes_with_a_block_a_multiprocessor(path):
    """A plan is within 3 % of the fastest plan measured on H200s with as many blocks as multiprocessors."""
    shapes = defaultdict(list)
    for n, nbytes, name, blocks, piece_bytes, threads, us, *_ in json.loads(path.read_text())["rows"]:
        if blocks <= 132 and threads <= MAX_THREADS:
            shapes[n, nbytes, name].append((blocks, piece_bytes, threads or MAX_THREADS, us))
    measured = 0
    for (n, nbytes, name), tried in shapes.items():
        plan = ALGORITHMS["allreduce", name].plan(nbytes // 4, 4, 4, Topology((0,) * n), Limits(132, 256 << 10))
        ours = (plan.blocks, plan.threads or MAX_THREADS)
        alike = [us for b, p, t, us in tried if (b, t) == ours and abs(plan.piece_elems * 4 - p) <= p // 16]
        measured += bool(alike)
        assert not alike or min(alike) <= 1.03 * min(us for *_, us in tried), (n, nbytes, name, plan)
    assert measured > len(shapes) * 3 // 4
