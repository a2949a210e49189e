"""Sweep: a plan of sweeps, as its user calls it."""

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
from .arguments import Wanted
from .norm import SweepNorm
from .problem import SweepProblem


class Sweep:
    """Sweeps of a formula over the points of a grid; made by ``Grid.plan_sweep``.

    depth:  sweeps from one exchange of halos to the next
    newest: the field that holds the result of a call: u after an even number of sweeps, else v
    move:   addresses of the fields with which a call begins and ends
    norm:   float64 (1,) of the device, the L2 norm over all PEs of the change of the last sweep; with norm=False None
    norms:  float64 (sweeps,), that of every sweep; with norm="every" only, else None
    """

    def __init__(
        self,
        context: CollectiveContext,
        parts: Decomposition,
        plan_allreduce: Callable[..., Any],
        wanted: Wanted,
        views: Sequence[ArrayView],
    ):
        self._context, self._text = context, f"{wanted.text}, plan {context.guard.next_plan()}"
        backend, arrays = context.backend, context.arrays
        numbers = np.array(wanted.numbers or (0.0,), wanted.stencil.dtype)
        self._numbers = device_array(backend, numbers, TABLE[wanted.stencil.dtype])
        at = backend.heap.array_view(self._numbers, True).address
        problem = SweepProblem(context, parts, wanted.stencil, views, at, wanted.sweeps, wanted.norms)
        problem.compiled(specialised(apply_once, wanted.stencil), problem.options())
        self._choices = engines.choices(problem, wanted.depth)
        self._chosen = engines.chosen(self._choices, wanted.engine)
        self._norm = SweepNorm(context, plan_allreduce, problem.n_levels) if problem.n_levels else None
        self.depth = self._chosen.depth
        self._run = self._chosen.engine.prepare(problem, self.depth, self._norm)
        first, newest = views[0], views[wanted.sweeps % 2]
        self.newest, self.move = newest.owner, (first.address, newest.address)
        every = self._norm.norms if self._norm else None
        self.norms = every if wanted.norms == "every" else None
        self.norm = None if every is None else every[-1:]
        self._enter = context.guard.count
        arrays.plans.add(self, tuple(view.address for view in views))

    def __call__(self, stream: AnyStream | None = None) -> None:
        """Sweep in stream order, from u; can be captured in a CUDA graph.  Collective.

        It exchanges the halos that it reads itself.  The halos of the newest field are left as they are.
        After an odd number of sweeps u holds an older field, and which one depends on the engine: before the next call
        set u, or call a plan from v to u.
        Raises NotInitialized, TypeError (not a stream), ValueError (a field was freed), PeerTimeout.
        """
        self._enter(self._text)
        if self._norm:
            self._norm.clear(stream)
        self._run(stream)
        if self._norm:
            self._norm.finish(stream)

    def explain(self) -> str:
        """The engines, what each is predicted to take or why it can't run here, and the one that is used."""
        lines = [f"{self._text}:"]
        lines += [f"{'*' if one is self._chosen else ' '} {one}" for one in self._choices]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<Sweep: {self._text}, {self._chosen.engine.name} of depth {self.depth}>"
