"""Sweeps in one launch (``kernels/sweep/resident.py``), and in a launch a pass, which exchanges the halos that it reads
(``kernels/sweep/exchanging.py``); with passes over integers in place of the backends' passes."""

from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any

import numpy as np

from pennympi.kernels.sweep import exchanging, resident
from pennympi.kernels.sweep.norm import LEVEL_BYTES
from pennympi.kernels.sweep.records import Box, Cut, Pass, SweepFields
from pennympi.simulator.device import LaunchQueue, Machine
from pennympi.simulator.implementations import by_one_warp
from pennympi.simulator.launches import Launch
from pennympi.stencil.grid.decomposition import Decomposition, factorings, with_halo
from pennympi.stencil.grid.messages import points_of
from pennympi.stencil.on_gpu.chunks import chunk_at, cut_into_chunks, pass_launch

from .arrays import must_be
from .halos import array_of, halos_of, new_field
from .launching import KernelLaunch
from .team import words

WORD = np.dtype("int64")
WEIGHTS = (13, 3, 5, 7, 11, 17, 19)  # of a point and its neighbours
LARGEST, CALLS = 1_000_003, 2


def swept(field: np.ndarray, inner: tuple[slice, ...]) -> np.ndarray:
    """A field after a sweep of its points ``inner``."""
    total, new = WEIGHTS[0] * field[inner], field.copy()
    for d, at in enumerate(inner):
        for weight, step in zip(WEIGHTS[1 + 2 * d :], (-1, 1), strict=False):
            there = (*inner[:d], slice(at.start + step, at.stop + step), *inner[d + 1 :])
            total = total + weight * field[there]
    new[inner] = total % LARGEST
    return new


def pass_over(grid: Decomposition, order: Cut | None = None) -> Callable[..., None]:
    """A pass of integers.  Other blocks may run between its reads and writes of rows; a level adds up its changes.

    order: the rows of the blocks; None: one block has all
    """

    def sweeps(b: Any, ctx, launch: Pass) -> None:
        fields, box, live, cut, _, at_words, _ = launch
        shape, n_dims, (depth, quiet) = grid.local(b.pe), len(grid.shape), cut[:2]
        bounds, inside = (tuple(zip(one[::2], one[1::2], strict=True))[3 - n_dims :] for one in (box, live))

        def array(address: int) -> np.ndarray:
            return array_of(b.machine, grid, b.pe, address, WORD)

        whole, old = bounds[0], np.zeros(shape, WORD)
        first, n = chunk_at(order, *whole, b.block.index) if order else (whole[0], whole[1] - whole[0])
        for index in np.ndindex(shape[:-1]):
            if n_dims == 1 or first - depth <= index[0] < first + n + depth:
                old[index] = array(fields.old)[index]
            b.pause()
        bounds = (first, first + n), *bounds[1:]
        own = tuple(slice(*bound) for bound in bounds)
        for s in range(1, depth + 1):
            wide = zip(bounds, inside, strict=True)
            inner = tuple(slice(max(p - depth + s, low), min(q + depth - s, high)) for (p, q), (low, high) in wide)
            new = swept(old, inner)
            if s > quiet:
                total = b.memory.elements(b.pe, at_words + (s - quiet - 1) * LEVEL_BYTES, 1, WORD)
                total += abs(new[own] - old[own]).sum()
            old = new
        for index in np.ndindex(shape[:-1]):
            if all(low <= i < high for i, (low, high) in zip(index, bounds, strict=False)):
                array(fields.new)[index][own[-1]] = old[index][own[-1]]
            b.pause()

    return by_one_warp(sweeps)


class Sweeps:
    """Two fields over all PEs, and a launch for each PE that sweeps them."""

    def __init__(self, machine: Machine, rng: Random):
        n_dims, n_pes = rng.randint(1, 3), machine.n_pes
        self.machine, large, small = machine, rng.randint(1, 3), rng.randint(1, 2)
        n_large, n_small = rng.randint(0, 3), rng.randint(1, 4)
        self.depth, self.sizes = max(large, small), [large] * n_large + [small] * n_small
        self.passes = resident.Passes(len(self.sizes), n_large, large, small, rng.randint(0, sum(self.sizes)))
        dims = rng.choice(list(factorings(n_pes, [0] * n_dims)))
        shape = tuple(p * self.depth + rng.randint(0, 3) for p in dims)
        periodic, pes = tuple(rng.random() < 0.5 for _ in dims), tuple(rng.sample(range(n_pes), n_pes))
        self.grid = Decomposition(shape, dims, periodic, (self.depth,) * n_dims, pes)
        self.fields = [new_field(machine, self.grid, WORD) for _ in range(2)]
        self.words = machine.memory.allocate(LEVEL_BYTES * (1 + len(self.levels)))
        self.halos = [halos_of(machine, rng, self.grid, [field], True) for field in self.fields]
        self.inner = tuple(slice(self.depth, self.depth + n) for n in shape)
        whole = np.random.default_rng(rng.getrandbits(32)).integers(0, LARGEST, with_halo(shape, self.grid.halo))
        self.starts = []
        for call in range(CALLS):  # each call starts from other points; the fixed values stay
            whole = whole.copy()
            whole[self.inner] = whole[self.inner] * (call + 3) % LARGEST
            self.starts.append(self.wrapped(whole))
        for pe in range(n_pes):
            for which in range(2):  # where the grid ends, both fields hold the fixed values beside the PE's own points
                given = self.with_ends(pe)
                self.array(pe, which)[given] = self.part(pe, self.starts[0])[given]

    @property
    def levels(self) -> range:
        """A level for each sweep that has a norm."""
        return range(sum(self.sizes) - self.passes.quiet)

    def array(self, pe: int, which: int) -> np.ndarray:
        """A PE's part of a field, with its halo."""
        return array_of(self.machine, self.grid, pe, self.fields[which].address, WORD)

    def part(self, pe: int, whole: np.ndarray) -> np.ndarray:
        """A PE's part of the whole grid, with its halo."""
        return whole[tuple(slice(first, first + n) for first, n in zip(self.grid.first(pe), self.grid.local(pe)))]  # noqa: B905

    def bounds(self, pe: int) -> tuple[Box, Box]:
        """The box of a PE's points, and 1 for each bound that has a neighbour."""
        own, n_dims = self.grid.own(pe), len(self.grid.shape)
        box, sides = [0, 1] * (3 - n_dims), [0, 0] * (3 - n_dims)
        for d in range(n_dims):
            box += [self.depth, self.depth + own[d]]
            for step in (-1, 1):
                along = tuple(step * (one == d) for one in range(n_dims))
                sides.append(int(self.grid.neighbour(pe, along) is not None))
        return Box(*box), Box(*sides)

    def launch(self, pe: int, call: int) -> Launch:
        """A launch with all sweeps of a PE's call."""
        box, sides = self.bounds(pe)
        fields = SweepFields(self.fields[1].address, self.fields[0].address, 0, 0, 0)  # the pass knows the grid's pitch
        halos = [one[pe] for one in self.halos]
        args = (pe, resident.SweepCall(fields, box, sides, 0, self.words, 0), self.passes, *halos)
        return KernelLaunch(
            "sweeps", resident.resident_kernel(pass_over(self.grid)), args, begin=lambda: self.write(pe, call)
        )

    def launches(self, pe: LaunchQueue, rng: Random) -> list[Launch]:
        me, (box, sides), n_dims = pe.me, self.bounds(pe.me), len(self.grid.shape)
        chunk, n_rows = rng.randint(1, 4), self.grid.own(pe.me)[0]
        at_sides = sides[6 - 2 * n_dims :]
        wait = rng.choice([None, *range(chunk + 1)])
        order, waiting = cut_into_chunks(n_rows, chunk, 0, self.depth, at_sides[:2], wait)
        planned = pass_launch(1, order, 1, waiting, n_dims == 1 or any(at_sides[2:]), wait is not None)
        counters = [words(self.machine, 1 + planned.n_waiting, 0) for _ in range(2)]
        halo = self.halos[0][me]
        limits = zip(planned.most_exchanging, (halo.n_received, halo.n_sent), strict=True)
        receivers, senders = (rng.randint(1, max(1, min(*most, pe.slots))) for most in limits)
        waits = receivers, max(receivers, senders), planned.first_waiting, planned.n_waiting
        kernel, launches = pass_over(self.grid, order), []
        if halo.n_received:
            kernel = exchanging.exchanging_pass(kernel)
        for call, k in np.ndindex(CALLS, len(self.sizes)):
            done, depth = sum(self.sizes[:k]), self.sizes[k]
            quiet = max(0, self.passes.quiet - done)
            at_words = self.words + max(0, done - self.passes.quiet) * LEVEL_BYTES
            new, old = (self.fields[(k + step) % 2].address for step in (1, 0))
            cut, live = Cut(depth, min(quiet, depth)), resident.widened(box, sides, depth)
            args = (me, Pass(SweepFields(new, old, 0, 0, 0), box, live, cut, 0, at_words, 0))
            if halo.n_received:
                at = counters[k % 2]
                args += (exchanging.PassExchange(self.halos[k % 2][me], *waits, at, at + WORD.itemsize),)
            begin = partial(self.write, me, call) if k == 0 else None
            launches.append(KernelLaunch(f"pass {k}", kernel, args, order.n_chunks, begin=begin))
        return launches

    def own(self, pe: int) -> tuple[slice, ...]:
        """Indices of a PE's points in its arrays."""
        return tuple(slice(self.depth, self.depth + n) for n in self.grid.own(pe))

    def with_ends(self, pe: int) -> tuple[slice, ...]:
        """Indices of a PE's points and, where the grid ends, of the halo beside them."""
        return points_of(self.grid, pe, (0,) * len(self.grid.shape), to_ends=True)

    def write(self, pe: int, call: int) -> None:
        """Set a PE's points of the first field, as a user does between two calls."""
        self.array(pe, 0)[self.own(pe)] = self.part(pe, self.starts[call])[self.own(pe)]

    def wrapped(self, whole: np.ndarray) -> np.ndarray:
        """The whole grid; a periodic dimension is padded with the points of its other end."""
        wraps = self.grid.periodic
        points = tuple(at if wrap else slice(None) for at, wrap in zip(self.inner, wraps, strict=True))
        return np.pad(whole[points], tuple((self.depth * wrap,) * 2 for wrap in wraps), mode="wrap")

    def check(self) -> None:
        """Compare the own points of both fields, and the changes of each sweep, with sweeps of the whole grid."""
        memory, pes = self.machine.memory, range(self.machine.n_pes)
        fields, changes = [self.starts[0]] * 2, []
        for start in self.starts:
            fields[0] = start
            changes.append([])
            for k, depth in enumerate(self.sizes):
                now = fields[k % 2]
                for _ in range(depth):
                    new = self.wrapped(swept(now, self.inner))
                    changes[-1].append(abs(new - now)[self.inner].sum())
                    now = new
                fields[1 - k % 2] = now
        total = [sum(memory.load(pe, self.words + level * LEVEL_BYTES) for pe in pes) for level in self.levels]
        must_be(np.array(total), np.array(changes, WORD)[:, self.passes.quiet :].sum(0))
        for pe, which in np.ndindex(self.machine.n_pes, 2):
            found, wanted = self.array(pe, which), self.part(pe, fields[which])
            must_be(found[self.own(pe)].reshape(-1), wanted[self.own(pe)].reshape(-1))


def called(machine: Machine, rng: Random) -> list[Callable[[], None]]:
    """Two calls; the second one begins while neighbours are in the first one."""
    sweeps = Sweeps(machine, rng)
    for pe in machine.pes:
        pe.launches += [sweeps.launch(pe.me, call) for call in range(CALLS)]
    return [sweeps.check]


def called_in_passes(machine: Machine, rng: Random) -> list[Callable[[], None]]:
    """The same, with a launch for each pass."""
    sweeps = Sweeps(machine, rng)
    for pe in machine.pes:
        pe.launches += sweeps.launches(pe, rng)
    return [sweeps.check]


SWEEPS = {"resident": called, "passes": called_in_passes}
