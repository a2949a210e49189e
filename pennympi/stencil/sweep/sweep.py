"""Sweep: the plan of sweeps that ``Grid.plan_sweep`` returns."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...annotations import AnyStream
from ...arrays.array_view import ArrayView
from ...arrays.dtypes import TABLE
from ...collectives.base import CollectiveContext
from ...compile.unroll import specialised
from ...kernels.sweep.formula import apply_once
from ..grid.decomposition import Decomposition
from ..grid.gather_io import device_array
from . import engines
from .arguments import SweepArguments
from .norm import SweepNorm
from .problem import SweepProblem


class Sweep:
    """Sweeps of a formula over the points of a grid; made by ``Grid.plan_sweep``.

    depth:  number of sweeps between two exchanges of halos
    newest: the field with the result of a call: u after an even number of sweeps, else v
    move:   addresses of the field that a call begins with, and of ``newest``
    norm:   float64 (1,) of the device, the L2 norm over all PEs of the change of the last sweep; None for norm=False
    norms:  float64 (sweeps,), the norms of all sweeps; None unless norm="every"
    """

    def __init__(
        self,
        context: CollectiveContext,
        parts: Decomposition,
        plan_allreduce: Callable[..., Any],
        arguments: SweepArguments,
        views: Sequence[ArrayView],
    ):
        self._context, self._text = context, f"{arguments.text}, plan {context.guard.next_plan()}"
        backend, arrays = context.backend, context.arrays
        numbers = np.array(arguments.numbers or (0.0,), arguments.stencil.dtype)
        self._numbers = device_array(backend, numbers, TABLE[arguments.stencil.dtype])
        address = backend.heap.array_view(self._numbers, True).address
        problem = SweepProblem(context, parts, arguments.stencil, views, address, arguments.sweeps, arguments.norms)
        problem.compiled(specialised(apply_once, arguments.stencil), problem.options())
        self._choices = engines.choices(problem, arguments.depth)
        self._chosen = engines.chosen(self._choices, arguments.engine)
        self._norm = SweepNorm(context, plan_allreduce, problem.n_levels) if problem.n_levels else None
        self.depth = self._chosen.depth
        self._run = self._chosen.engine.prepare(problem, self.depth, self._norm)
        first, newest = views[0], views[arguments.sweeps % 2]
        self.newest, self.move = newest.owner, (first.address, newest.address)
        norms = self._norm.norms if self._norm else None
        self.norms = norms if arguments.norms == "every" else None
        self.norm = None if norms is None else norms[-1:]
        self._enter = context.guard.count
        arrays.plans.add(self, tuple(view.address for view in views))

    def __call__(self, stream: AnyStream | None = None) -> None:
        """Sweep in stream order, from u.  A CUDA graph can capture the call.  Collective.

        The call exchanges the halos that it reads, but not the halos of its result.
        After an odd number of sweeps u holds an older field, which depends on the engine: before the next call set u, or
        call a plan from v to u.
        Raises NotInitialized, TypeError (not a stream), ValueError (a field was freed), PeerTimeout.
        """
        self._enter(self._text)
        if self._norm:
            self._norm.clear(stream)
        self._run(stream)
        if self._norm:
            self._norm.finish(stream)

    def explain(self) -> str:
        """The engines, each with its predicted time or the reason why it can't run; * marks the engine that runs."""
        lines = [f"{self._text}:"]
        lines += [f"{'*' if choice is self._chosen else ' '} {choice}" for choice in self._choices]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<Sweep: {self._text}, {self._chosen.engine.name} of depth {self.depth}>"
