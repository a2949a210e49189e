"""The description of a plan of sweeps for its engines."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ...annotations import Plan
from ...arrays.array_view import ArrayView
from ...arrays.dtypes import TABLE
from ...backend import Kernel
from ...collectives.base import CollectiveContext
from ...compile.compiler_error import cannot_compile
from ...compile.options import KernelOptions, LaunchBounds
from ...compile.pass_kernel import Storage
from ...errors import PennympiError
from ...kernels.sweep.formula import Stencil
from ...kernels.sweep.records import Box, SweepFields
from ..grid.decomposition import Decomposition
from ..grid.exchange import plan_exchange
from ..grid.layout import LINE_BYTES, layout_of

NAME = "sweep"  # name of all kernels that call a formula
Norms = Literal["none", "last", "every"]


@dataclass(frozen=True)
class SweepProblem:
    """``sweeps`` sweeps of a formula, from field u to field v and back.

    views:   u, v, and the field of coefficients if there is one: arrays (local,) of the grid
    numbers: address of (n_args,) elements of the fields' dtype, which the formula takes after the neighbours
    norms:   the sweeps with a norm: "none", "last" or "every"
    """

    context: CollectiveContext
    parts: Decomposition
    stencil: Stencil
    views: Sequence[ArrayView]
    numbers: int
    sweeps: int
    norms: Norms

    @property
    def me(self) -> int:
        return self.context.job.me

    @property
    def n_levels(self) -> int:
        """Number of sweeps with a norm."""
        return {"none": 0, "last": 1, "every": self.sweeps}[self.norms]

    @property
    def storage(self) -> Storage:
        """The layout of the fields, and the number of multiprocessors."""
        item_bytes, n_dims = self.stencil.item_bytes, self.stencil.n_dims
        layout = layout_of(self.parts, self.me, item_bytes)
        plane = layout.strides[0] // item_bytes if n_dims == 3 else 0
        return Storage(layout.lead, plane, layout.pitch, self.context.backend.max_blocks)

    def fields(self, new: int, old: int) -> SweepFields:
        """The record of the fields for a launch.  new, old: addresses; 0: the call sets them"""
        storage, coefficient = self.storage, self.views[2].address if self.stencil.has_coefficient else 0
        return SweepFields(new, old, coefficient, storage.plane, storage.row)

    def live(self, width: int) -> Box:
        """The points of this PE, and ``width`` points beyond each side with a neighbour."""
        parts, me, n_dims = self.parts, self.me, self.stencil.n_dims
        bounds = [(0, 1)] * (3 - n_dims)
        for d, (n, h) in enumerate(zip(parts.own(me), parts.halo, strict=True)):
            before, after = (pe is not None for pe in parts.neighbours_along(me, d))
            bounds.append((h - width * before, h + n + width * after))
        return box_of(bounds)

    @property
    def sides(self) -> Box:
        """1 for each bound of this PE's points that has a neighbour, else 0."""
        return Box(*(abs(a - b) for a, b in zip(self.live(0), self.live(1), strict=True)))

    def options(self, bounds: LaunchBounds | None = None, shared_bytes: int = 0) -> KernelOptions:
        """The options of a kernel that calls the formula: no engine fuses a product with a sum."""
        return KernelOptions(elements=TABLE[self.stencil.dtype], bounds=bounds, fused=False, shared_bytes=shared_bytes)

    def exchange(self, which: int, corners: bool) -> Plan:
        """A plan that exchanges the halos of ``views[which]``.  Collective."""
        view = self.views[which]
        return plan_exchange(self.context, self.parts, [view], [view.owner], corners)

    def exchange_of_coefficient(self, depth: int) -> Plan | None:
        """A plan for the field of coefficients; None if no pass reads it at neighbours' points.  Collective."""
        return self.exchange(2, True) if self.stencil.has_coefficient and depth > 1 else None

    def compiled(self, kernel: Callable[..., None], options: KernelOptions) -> Kernel:
        """A kernel that calls the formula.  Raises KernelError with the line and the compiler's message."""
        try:
            return self.context.backend.compiler.kernel(kernel, NAME, options)
        except (PennympiError, OSError, MemoryError):
            raise
        except Exception as error:  # Numba raises many types
            raise cannot_compile(self.stencil.formula, error) from None

    def new_bytes(self, nbytes: int) -> ArrayView:
        """Memory of this PE, not set, at a multiple of LINE_BYTES."""
        backend = self.context.backend
        array = backend.heap.new((nbytes + LINE_BYTES,), TABLE["uint8"], backend.streams.handle(None))
        whole = backend.heap.array_view(array, True)
        return replace(whole, address=-(-whole.address // LINE_BYTES) * LINE_BYTES)

    @property
    def end(self) -> int:
        """Index, in a row's storage, of the fixed value after the last point; -1: a neighbour PE follows."""
        _, after = self.parts.neighbours_along(self.me, self.stencil.n_dims - 1)
        return self.storage.lead + self.live(0).z1 if after is None else -1


def box_of(bounds: Sequence[tuple[int, int]]) -> Box:
    """The box of the bounds (first, stop) in x, y and z."""
    return Box(*(edge for pair in bounds for edge in pair))


def most_depth(parts: Decomposition) -> int | None:
    """The most sweeps between two exchanges that the halos allow, the same on all PEs; None: any number."""
    widths = [h for h, p, wraps in zip(parts.halo, parts.dims, parts.periodic, strict=True) if p > 1 or wraps]
    return min(widths, default=None)


def halo_why_not(parts: Decomposition, depth: int) -> str:
    """The reason why the halos do not allow ``depth`` sweeps between two exchanges, or ""."""
    most = most_depth(parts)
    if most is None or depth <= most:
        return ""
    return f"depth={depth} needs halos of {depth} points, and those of this grid have {most}: make it with halo={depth}"
