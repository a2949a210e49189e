"""Every plan fits the inbox, at any number of PEs: by counting slots, and by running kernels to see where they write."""

import json
from collections import defaultdict
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path

import pytest
from collective_cases import TABLES

from pennympi import Unsupported
from pennympi.arrays.dtypes import TABLE as DTYPES
from pennympi.compile.bind import bind, grouped, parameters
from pennympi.kernels import block as primitives
from pennympi.kernels.algorithm import (
    ELEMENTS,
    GROUP_DATA_BYTES,
    MAX_THREADS,
    PACKET_BYTES,
    PACKETS,
    PACKETS_TOGETHER,
    Limits,
    Place,
    cut,
    packed_bytes,
)
from pennympi.kernels.allreduce import PLANNED, TABLE
from pennympi.selection.cost import values_of
from pennympi.selection.formulas import FORMULAS
from pennympi.selection.machine import NVLINK
from pennympi.selection.selection import Selection

ROWS = {("allreduce", name): row for name, row in (TABLE | PLANNED).items()}
ROWS |= {(table, name): row for table, rows in TABLES.items() for name, row in rows.items()}
BYTES = sorted({(dtype.item_bytes, dtype.acc_bytes) for dtype in DTYPES.values()})
SWEEPS = Path(__file__).resolve().parents[2] / "benchmarks" / "results" / "sweeps"
N_PES = [2, 3, 8, 72, 256, 520, 912, 1032, 2048, 4095, 4096]
# A GPU's, a CPU's, and few blocks; the rows are looked at by those that normalise some.
LIMITS = [Limits(132, 256 << 10), Limits(1, 1 << 20), Limits(2, 256 << 10)]
COUNTS = (1, 1 << 20, 1 << 40)


@cache
def places(n):
    """One node, nodes of 8, nodes of 2, nodes of 1: of n PEs, where n allows it."""
    sizes = [size for size in (n, 8, 2, 1) if n % size == 0]
    return [Place(tuple(pe // size for pe in range(n)), size == n, size == n) for size in dict.fromkeys(sizes)]


def runs(row, place, limits):
    """Whether the row takes a call there, of the dtypes that it takes."""
    return not row.refuse(place, "float32", "sum") and not row.no_room(place, limits)


@pytest.mark.parametrize(("table", "name"), ROWS)
def test_a_piece_fits_its_slot(table, name):
    row, fitting = ROWS[table, name], 0
    for n, limits in product(N_PES, LIMITS):
        for place in places(n):
            if not runs(row, place, limits):
                continue
            fitting += 1
            slot_bytes = limits.buffer_bytes // row.slots(place, limits)
            for count, (item_bytes, acc_bytes) in product(COUNTS, BYTES):
                plan = row.plan(count, item_bytes, acc_bytes, place, limits)
                travels = plan.piece_elems * (item_bytes if row.holds in (ELEMENTS, PACKETS) else acc_bytes)
                room = packed_bytes(slot_bytes // PACKET_BYTES * PACKET_BYTES) if row.holds == PACKETS else slot_bytes
                case = (n, len(place.nodes), limits, count, item_bytes, plan)
                assert 0 < travels <= room // 16 * 16 and plan.piece_elems * item_bytes % 16 == 0, case
                assert 0 < plan.blocks <= limits.max_blocks and plan.threads <= MAX_THREADS, case
    assert fitting


INBOX, OUTBOX, SIGNALS, ROUTES, OUT, SRC, NUMBERS = (k << 44 for k in range(1, 8))
EPOCH = 6


class Workspace:
    """Bodies of primitives that note what a kernel writes into peers' inboxes, its outbox, and the words it uses."""

    def __init__(self, row, place, limits, plan, count, item_bytes, acc_bytes):
        self.row, self.place, self.limits, self.plan = row, place, limits, plan
        self.known = {
            "ctx": 0, "n_pes": place.n_pes, "item_bytes": item_bytes, "acc_bytes": acc_bytes, "out": OUT, "src": SRC,
            "n_elems": count, "piece_elems": plan.piece_elems, "buffer_bytes": limits.buffer_bytes,
            "inbox": INBOX, "outbox": OUTBOX, "signals": SIGNALS, "epochs": 0, "routes": ROUTES,
            "residual": 0, "reach": 0, "root": 0, "signature": 5 << 46,
            "nbytes": count * item_bytes, "piece_bytes": plan.piece_elems * item_bytes,
            "send_counts": NUMBERS, "receive_counts": NUMBERS, "send_starts": 0, "receive_starts": 0,
            "src_elems": 1 << 40, "out_elems": 1 << 40, "elem_bytes": item_bytes,
        }  # fmt: skip
        self.count = count
        self.item, self.acc, self.n_words = item_bytes, acc_bytes, row.signals(place)
        self.inbox = defaultdict(dict)  # of each PE: address -> the most bytes that are written there
        bodies = {name: self.nothing for name, one in vars(primitives).items() if getattr(one, "primitive", False)}
        bodies |= {name: getattr(self, name) for name in bodies if name in vars(Workspace)}
        self.kernel = bind(row.kernel, bodies, lambda helper: helper)

    def run(self, me, block):
        self.me, self.index = me, block
        self.words = self.row.routes(self.place, me) if self.row.routes else ()
        self.kernel(*grouped(self.row.kernel, [{**self.known, "me": me}[name] for name in parameters(self.row.kernel)]))

    def nothing(self, *args):
        """A primitive that does not write to a workspace."""

    def block(self):
        return self.index

    def blocks(self):
        return self.plan.blocks

    def read_epoch(self, epochs, index):
        if epochs >= NUMBERS:
            return self.count
        if INBOX <= epochs < OUTBOX:  # the head of a message
            return self.count * self.item
        return EPOCH if epochs < SIGNALS or index < 2 else 0

    def write_epoch(self, epochs, index, epoch):
        self.own(epochs, 8)

    def read_route(self, routes, index):
        return self.words[(routes - ROUTES) // 8 + index]

    def staged(self, ctx, room, src, nbytes, pe):
        self.own(room, nbytes)
        return room

    def own(self, at, nbytes):
        """This PE writes its outbox, or elsewhere."""
        if nbytes > 0 and OUTBOX <= at < SIGNALS:
            self.in_a_buffer(at - OUTBOX, nbytes)

    def in_a_buffer(self, at, nbytes):
        size = self.limits.buffer_bytes
        assert at // size // 2 == self.index, f"at {at}: not in block {self.index}'s buffers"
        assert at % size + nbytes <= size, f"{nbytes} bytes at {at % size} of a buffer of {size}"

    def put(self, ctx, dst, src, nbytes, pe):
        if nbytes > 0 and INBOX <= dst < OUTBOX:
            self.in_a_buffer(dst - INBOX, nbytes)
            found = self.inbox[pe]
            found[dst] = max(found.get(dst, 0), nbytes)

    def signal(self, ctx, word, value, pe):
        assert 0 <= (word - SIGNALS) // 8 - self.index * self.n_words < self.n_words, "not this block's word"

    def wait(self, ctx, word, value, source):
        self.signal(ctx, word, value, source)

    def signal_all(self, ctx, signals, value, me, n_pes):
        self.signal(ctx, signals, value, 0), self.signal(ctx, signals + 8 * (n_pes - 1), value, 0)

    wait_all = meet_multicast = lambda self, ctx, signals, value, *rest: self.signal(ctx, signals, value, 0)

    def put_signal(self, ctx, dst, src, nbytes, word, value, pe):
        self.put(ctx, dst, src, nbytes, pe), self.signal(ctx, word, value, pe)

    def copy(self, dst, src, nbytes):
        self.own(dst, nbytes)

    def widen(self, ctx, dst, src, count):
        self.own(dst, count * self.acc)

    def reduce(self, ctx, dst, part, src, count):
        self.own(dst, count * self.acc)

    merge = reduce

    def finish(self, ctx, dst, part, src, count):
        self.own(dst, count * self.item)

    finish_merge = finish

    def combine(self, ctx, out, slots, slot_bytes, src, count, scratch, me, n_pes, residual=0):
        self.own(out, count * self.item), self.own(scratch, count * self.acc)

    def combine_put(self, ctx, out, there, slots, slot_bytes, src, count, scratch, me, n_pes):
        self.combine(ctx, out, slots, slot_bytes, src, count, scratch, me, n_pes)
        for pe in range(n_pes):
            if pe != me:
                self.put(ctx, there, out, count * self.item, pe)

    def reduce_multicast(self, ctx, dst, src, count, scratch):
        self.own(dst, count * self.item), self.own(scratch, count * self.acc)

    def store_multicast(self, ctx, dst, src, nbytes):
        self.put(ctx, dst, src, nbytes, self.place.n_pes)

    def send_packets(self, ctx, slot, src, nbytes, epoch, pe):
        self.put(ctx, slot, src, -(-nbytes // GROUP_DATA_BYTES) * PACKETS_TOGETHER * PACKET_BYTES, pe)

    def exchange_reduce_packets(self, ctx, out, slots, slot_bytes, src, count, epoch, scratch, me, n_pes, *rest):
        for pe in range(n_pes):
            if pe != me:
                self.send_packets(ctx, slots + me * slot_bytes, src, count * self.item, epoch, pe)
        self.own(scratch, count * self.acc)

    def reduce_forward_packets(self, ctx, out, slots, reduced, slot_bytes, src, count, epoch, scratch, me, n_pes, *rest):
        self.exchange_reduce_packets(ctx, out, reduced, slot_bytes, src, count, epoch, scratch, me, n_pes)

    def all_to_all_packets(self, ctx, out, out_stride, src, src_stride, slots, slot_bytes, nbytes, epoch, me, n_pes):
        self.exchange_reduce_packets(ctx, out, slots, slot_bytes, src, nbytes // self.item, epoch, OUT, me, n_pes)

    def must_be_apart(self):
        """No two messages to a PE overlap, unless they are for the same place."""
        for pe, found in self.inbox.items():
            end = 0
            for at in sorted(found):
                assert at >= end, f"messages to PE {pe} overlap by {end - at} bytes"
                end = at + found[at]


def elements_of_a_round(table, name, place, plan):
    """Of one block."""
    if table == "allreduce":
        return plan.piece_elems * int(FORMULAS[name].counts(values_of(place, 1, 1, 1))["span"])
    return plan.piece_elems * (place.n_pes - 1 if name in ("spread", "gathered") else 1)


@pytest.mark.parametrize(("table", "name"), ROWS)
def test_a_kernel_stays_in_its_slots(table, name):
    """Two rounds of a block and one of another, at few PEs and at as many as the row takes."""
    row, limits = ROWS[table, name], Limits(132, 256 << 10)
    able = [place for n in N_PES for place in places(n) if runs(row, place, limits)]
    moves = table in ("all_gather", "all_to_all", "broadcast", "all_gatherv", "all_to_allv")
    for place, sizes in ((able[0], (8, 8)), (able[-1], (2, 4))):
        item_bytes, acc_bytes = (1, 1) if moves else sizes
        plan = replace(row.plan(1 << 40, item_bytes, acc_bytes, place, limits), blocks=2)
        workspace = Workspace(
            row, place, limits, plan, 3 * elements_of_a_round(table, name, place, plan), item_bytes, acc_bytes
        )
        last = place.n_pes - 1
        for me, block in ((0, 0), (1, 0), (last, 0), (last, 1)):
            workspace.run(me, block)
        assert workspace.inbox
        workspace.must_be_apart()


def test_a_slot_too_small_is_refused():
    with pytest.raises(ValueError, match="should have been refused"):
        cut(100, 4, 0)
    assert cut(100, 1, 2) == 2 and cut(1000, 1, 24) == 16 and cut(3, 1, 100) == 16 and cut(100, 2, 7) == 4
    place, limits = Place((0,) * 600, ll128_safe=False), Limits(132, 256 << 10)
    assert "600 PEs" in TABLE["multi_ring"].no_room(place, limits)
    choice = Selection(place, limits, NVLINK, None, "600 GPUs")
    with pytest.raises(Unsupported, match="multi_ring can't run here: at 600 PEs its .* use algorithm='auto'"):
        choice.choose("multi_ring", place, 8, "float32", "sum")


@pytest.mark.parametrize("n", [520, 1024, 4096])
def test_auto_chooses_what_fits(n):
    limits = Limits(132, 256 << 10)
    for place, nbytes, dtype in product(places(n), (8, 1 << 20, 1 << 30), ("float16", "float64")):
        row = Selection(place, limits, NVLINK, None, "GPUs").choose("auto", place, nbytes, dtype, "sum")
        assert runs(row, place, limits)


@pytest.mark.parametrize("path", sorted(SWEEPS.glob("*.json")), ids=lambda path: path.stem)
def test_the_best_shapes_with_a_block_a_multiprocessor(path):
    """A plan is the fastest that was measured on H200s with as many blocks as multiprocessors, or within 3 % of it."""
    shapes = defaultdict(list)
    for n, nbytes, name, blocks, piece_bytes, threads, us, *_ in json.loads(path.read_text())["rows"]:
        if blocks <= 132 and threads <= MAX_THREADS:
            shapes[n, nbytes, name].append((blocks, piece_bytes, threads or MAX_THREADS, us))
    measured = 0
    for (n, nbytes, name), tried in shapes.items():
        plan = ROWS["allreduce", name].plan(nbytes // 4, 4, 4, Place((0,) * n), Limits(132, 256 << 10))
        ours = (plan.blocks, plan.threads or MAX_THREADS)
        alike = [us for b, p, t, us in tried if (b, t) == ours and abs(plan.piece_elems * 4 - p) <= p // 16]
        measured += bool(alike)
        assert not alike or min(alike) <= 1.03 * min(us for *_, us in tried), (n, nbytes, name, plan)
    assert measured > len(shapes) * 3 // 4
