"""Sweeps in passes over memory, several sweeps a pass.  A pass is one launch, which exchanges the halos that it reads
(``kernels/sweep/exchanging.py``).
"""

from collections.abc import Callable
from itertools import accumulate
from typing import Any

import numpy as np

from ...backend import Run
from ...compile.pass_kernel import PassKernel, PassLaunch
from ...kernels.slots import WORD_BYTES
from ...kernels.sweep.exchanging import PassExchange, exchanging_pass
from ..grid.exchange import Halos
from .norm import SweepNorm
from .problem import Norms, SweepProblem


def pass_sizes(sweeps: int, depth: int, norms: str = "none") -> list[int]:
    """Number of sweeps of each pass, at most ``depth`` and nearly equal.

    The number of passes is even if and only if ``sweeps`` is even, so that the result is in the field ``Sweep.newest``.
    norms: "last": the last sweep, the only one with a norm, is a pass of its own if that takes no additional pass
    """
    if norms == "last" and sweeps > 1:
        separate, together = [*pass_sizes(sweeps - 1, depth), 1], pass_sizes(sweeps, depth)
        return separate if len(separate) <= len(together) else together
    passes = -(-sweeps // depth)
    passes += (passes - sweeps) % 2
    few, rest = divmod(sweeps, passes)
    return [few + 1] * rest + [few] * (passes - rest)


def kernels_of(problem: SweepProblem) -> Any:
    """The module with the backend's kernels of passes.  Its import loads a compiler."""
    name = problem.context.backend.name
    if name == "cuda":
        from ..on_gpu import passes as on_gpu

        return on_gpu
    if name == "simulated":
        from ...simulator import sweep_pass

        return sweep_pass
    from .. import on_cpu

    return on_cpu


def most_sweeps(problem: SweepProblem) -> int:
    """The most sweeps of a pass of the backend."""
    most: int = kernels_of(problem).most_sweeps(problem.stencil)
    return most


def pass_kernel(problem: SweepProblem, size: int, norms: str) -> PassKernel:
    """The backend's kernel of a pass of ``size`` sweeps."""
    kernel: PassKernel = kernels_of(problem).pass_kernel(problem.stencil, size, norms, problem.end, any(problem.sides))
    return kernel


def passes(problem: SweepProblem, depth: int, norm: SweepNorm | None) -> Callable[[Any], None]:
    """A function that enqueues the launches of all sweeps in a stream.  Collective."""
    context, views, box, storage = problem.context, problem.views, problem.live(0), problem.storage
    handle_of, enqueue_in_order = context.backend.streams.handle, context.backend.streams.order.enqueue
    sizes = pass_sizes(problem.sweeps, depth, problem.norms)
    last, starts = len(sizes) - 1, [0, *accumulate(sizes)]
    before_last = "none" if problem.norms == "last" else problem.norms
    kinds = [(size, problem.norms if i == last else before_last) for i, size in enumerate(sizes)]
    kernels = {kind: pass_kernel(problem, *kind) for kind in dict.fromkeys(kinds)}
    launches = {kind: kernel.launch(box, problem.sides, storage) for kind, kernel in kernels.items()}
    if context.backend.shared:  # blocks of another PE that shares the GPU may need the place of blocks that wait
        launches = {kind: launch._replace(at_a_time=False) for kind, launch in launches.items()}
    most_blocks = tuple(map(min, zip(*(launch.most_exchanging for launch in launches.values()), strict=True)))
    halos = [Halos(context, problem.parts, [view], depth > 1, *most_blocks) for view in views[: min(2, len(sizes))]]
    of_coefficient = problem.exchange_of_coefficient(depth)
    scratch = problem.new_bytes(max(kernel.scratch_bytes for kernel in kernels.values()))
    exchanges = [PassExchanges(problem, of_field) for of_field in halos]

    def prepared(kind: tuple[int, Norms], which: int) -> Run:
        """A launch that takes the addresses new and words.  which: number of the old field"""
        of_kind, launch = kernels[kind], launches[kind]
        fields = problem.fields(views[1 - which].address, views[which].address)
        arguments = (*fields, *box, *problem.live(kind[0]), *launch.cut, problem.numbers, 0, scratch.address)
        kernel, exchange = exchanges[which].of(of_kind.kernel, launch)
        compiled = problem.compiled(kernel, problem.options(of_kind.bounds, of_kind.shared_bytes))
        return compiled.prepare(launch.blocks, arguments + exchange, (0, len(arguments) - 2), launch.threads)

    runs = {turn: prepared(*turn) for turn in dict.fromkeys((kind, i % 2) for i, kind in enumerate(kinds))}

    def enqueue(stream: Any) -> None:
        if of_coefficient:
            of_coefficient(stream)
        handle = handle_of(stream)
        for i, kind in enumerate(kinds):
            words = norm.words(starts[i] if problem.norms == "every" else 0) if norm else 0
            enqueue_in_order(runs[kind, i % 2], (views[1 - i % 2].address, words), handle, stream)

    enqueue.keeps = scratch, exchanges  # type: ignore[attr-defined]  # keeps the memory alive
    return enqueue


class PassExchanges:
    """The exchanges that the passes from one of the fields begin with.  halos: of the field"""

    def __init__(self, problem: SweepProblem, halos: Halos):
        self._problem, self._halos = problem, halos
        self._kept: list[Any] = []

    def of(self, sweep: Callable[..., None], launch: PassLaunch) -> tuple[Callable[..., None], tuple[int, ...]]:
        """The kernel of a pass that exchanges the halos first, and its arguments after those of ``sweep``."""
        halo = self._halos.halo
        if not halo.n_received:
            return sweep, ()
        counters = self._problem.new_bytes(WORD_BYTES * (1 + launch.n_waiting))
        self._problem.context.backend.heap.copy_in(counters.address, np.zeros(1 + launch.n_waiting, np.int64))
        self._kept.append(counters)
        waits = self._halos.receivers, self._halos.senders, launch.first_waiting, launch.n_waiting
        exchange = PassExchange(halo, *waits, counters.address, counters.address + WORD_BYTES)
        return exchanging_pass(sweep), (*halo, *exchange[1:])
