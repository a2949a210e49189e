"""A team of PEs: the users' arrays, and workspaces, plans and launches as in ``pennympi/collectives/base.py``."""

from collections.abc import Callable, Sequence
from contextlib import contextmanager
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np

from pennympi.compile.bind import records
from pennympi.job.control import tag_of
from pennympi.kernels.algorithm import Algorithm, Limits, Plan, Topology
from pennympi.kernels.block import EPOCH_BITS
from pennympi.kernels.plans import VECTOR_ELEMS
from pennympi.simulator.device import Machine
from pennympi.simulator.launches import Launch
from pennympi.simulator.network import COPIED, POINTER

from .arrays import Arrays
from .launching import DTYPES, KernelLaunch

FIRST_EPOCHS = (0, 7)
MAX_BLOCKS = 4


def place_for(rng: Random, network: str, runs: Callable[[Topology], Any] = lambda topology: True) -> Topology:
    """2 to 8 PEs on one node or several, where ``runs`` says that the program can run."""
    while True:
        n_pes = rng.choice((2, 2, 3, 3, 4, 4, 5, 6, 8))
        size = rng.choice((n_pes, 1, 2))
        topology = topology_of([pe // size for pe in range(n_pes)], network)
        if runs(topology):
            return topology


def topology_of(node_of: Sequence[int], network: str) -> Topology:
    """The topology on a network: whether packets arrive whole, and whether there is a switch that adds up."""
    whole = network in (POINTER, COPIED)
    return Topology(tuple(node_of), ll128_safe=whole, multicast=network == POINTER, stores=whole)


class Team:
    """PEs over a network; with ``plain`` some arrays are outside the heap."""

    def __init__(self, network: str, rng: Random, topology: Topology, plain: bool):
        self.rng, self.n, self.topology, self.machine = rng, topology.n_pes, topology, Machine(network, topology, rng)
        self.limits = Limits(rng.choice((1, 2, MAX_BLOCKS)), 8192 if self.n <= 4 else 16384)
        self.arrays = Arrays(self.machine, plain)
        self._workspaces: dict[int, dict[str, int]] = {}

    def issue(self, streams: list[list[Launch]]) -> None:
        for pe, stream in zip(self.machine.pes, streams, strict=True):
            pe.launches += stream

    @contextmanager
    def noted(self, text: str) -> Any:
        """Add up garbage without warnings, and name the program in an error."""
        try:
            with np.errstate(all="ignore"):
                yield
        except Exception as error:
            error.add_note(f"{text}; {self.n} PEs on nodes {self.machine.network.node_of}")
            raise

    def workspace(self, algorithm: Algorithm) -> dict[str, int]:
        """The workspace of an algorithm, which exists before anything runs, so that no rendezvous is needed."""
        if id(algorithm) not in self._workspaces:
            blocks = self.limits.max_blocks
            nbytes = blocks * 2 * self.limits.buffer_bytes
            n_signals = blocks * algorithm.signal_words(self.topology, self.limits)
            at = allocated(self.machine, nbytes, nbytes, n_signals, blocks, 2 * blocks)
            if algorithm.peer_table:
                peer_table = [algorithm.peer_table(self.topology, pe) for pe in range(self.n)]
                at["peer_table"] = words(self.machine, max(1, len(peer_table[0])), 0)
                for pe, one in enumerate(peer_table):
                    fill(self.machine, pe, at["peer_table"], one)
            self._workspaces[id(algorithm)] = at
        return self._workspaces[id(algorithm)]

    def small_plan(self, algorithm: Algorithm, count: int, dtype: str) -> Plan:
        """The algorithm's plan for this count, or for a larger one, to get more blocks; its pieces may be smaller."""
        (item, partial), rng = DTYPES[dtype], self.rng
        count *= rng.choice((1, 8, 1000))
        plan = algorithm.plan(count, item.itemsize, partial.itemsize, self.topology, self.limits)
        piece = plan.piece_elems
        if rng.random() < 0.8:
            vectors = 1, 2, 3, 33  # the last is more than one warp's packets
            piece = rng.choice([k * VECTOR_ELEMS for k in vectors if k * VECTOR_ELEMS <= piece] or [piece])
        return replace(plan, piece_elems=piece)

    def launch(
        self, what: str, algorithm: Algorithm, plan: Plan, dtype: str, pe: int, described: str, **call: int
    ) -> Launch:
        """The launch on PE ``pe``.  described: the call in words;  call: its arguments"""
        item, partial = DTYPES[dtype]
        known = {
            **self.workspace(algorithm), "ctx": pe, "me": pe, "n_pes": self.n, "residual": 0, "root": 0,
            "out_is_symmetric": 0, "item_bytes": item.itemsize, "acc_bytes": partial.itemsize,
            "buffer_bytes": self.limits.buffer_bytes, "piece_elems": plan.piece_elems,
            "piece_bytes": plan.piece_elems * item.itemsize, "tag": tagged(described),
            "nbytes": call["n_elems"] * item.itemsize, **call,
        }  # fmt: skip
        return prepared(what, algorithm.kernel, plan.blocks, dtype, known)


def allocated(
    machine: Machine, inbox_bytes: int, outbox_bytes: int, n_signals: int, n_epochs: int, buffers: int = 1
) -> dict[str, int]:
    """The memory of a workspace on every PE, whose words begin with one of ``FIRST_EPOCHS``.  buffers: number in a box"""
    first, allocate = machine.rng.choice(FIRST_EPOCHS), machine.memory.allocate
    at = {name: allocate(n, parts=buffers) for name, n in (("inbox", inbox_bytes), ("outbox", outbox_bytes))}
    at["peer_table"] = 0
    return at | {"signals": words(machine, n_signals, first), "epochs": words(machine, n_epochs, first)}


def words(machine: Machine, n: int, first: int) -> int:
    at = machine.memory.allocate(8 * n)
    for pe in range(machine.n_pes):
        fill(machine, pe, at, [first] * n)
    return at


def fill(machine: Machine, pe: int, address: int, values: Any) -> None:
    for k, value in enumerate(values):
        machine.memory.words[pe][(address >> 3) + k] = value


def prepared(what: str, kernel: Any, blocks: int, dtype: str, known: dict[str, int]) -> KernelLaunch:
    """A launch with its arguments, and the fields of its records, by name."""
    args = [
        record(*(known[field] for field in record._fields)) if record else known[name]
        for name, record in records(kernel).items()
    ]
    return KernelLaunch(what, kernel, args, blocks, DTYPES[dtype], known=known)


def tagged(described: str) -> int:
    """The tag of a call, at its place in an epoch."""
    return tag_of(described) << EPOCH_BITS
