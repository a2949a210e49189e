"""Grid: the points of a Cartesian grid, cut into one part for each PE of a team."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ...annotations import AnyStream, Array, DTypeLike, EngineName, NewArray, Number, Plan
from ...arrays.array_view import ArrayView
from ...arrays.dtypes import DEFAULT, TABLE, DType, dtype_of, dtype_of_value, scalar
from ...call_guard import check_pe
from ...collectives.base import CollectiveContext
from ...job.on_all import on_all
from ...memory.symmetric import Storage
from ..sweep.arguments import SweepArguments, checked
from ..sweep.sweep import Sweep
from .decomposition import Decomposition, Sizes, with_halo
from .exchange import plan_exchange
from .gather_io import Whole, device_array
from .layout import layout_of
from .messages import points_of
from .overlap import Overlap, boxes_of, overlapped

AXES = "xyz"
PLAIN = (int, float, str, np.number)  # types of the values that ``save`` writes beside fields
Side = str  # "x-", "x+", "y-", "y+", "z-", "z+": an axis and a direction


class Grid:
    """A grid of one to three dimensions over the PEs of a team; made by ``team.grid``.

    shape:    number of points of the whole grid.  All attributes have an entry for each dimension
    dims:     number of PEs;  coords: place of this PE
    periodic: True if the first and the last point are neighbours
    halo:     number of points of each neighbour that this PE keeps, on both sides
    first:    global index of this PE's first own point;  own: number of this PE's own points
    local:    shape of this PE's arrays: own + 2 * halo

    Dimension 0 is x, 1 is y, 2 is z; the last dimension is contiguous in memory.  A side is an axis and a direction:
    "x-" is the side of lower indices of dimension 0.
    The PEs of a node have a compact part of the grid, so coords need not follow the order of the PEs.
    """

    def __init__(
        self,
        context: CollectiveContext,
        get: Callable[..., None],
        parts: Decomposition,
        plan_allreduce: Callable[..., Plan],
    ):
        self._context, self._parts, me = context, parts, context.job.me
        self._plan_allreduce = plan_allreduce
        self._whole, self._boxes, self._push = Whole(context, get, parts), boxes_of(parts, me), None
        self.shape, self.dims, self.periodic, self.halo = parts.shape, parts.dims, parts.periodic, parts.halo
        self.coords, self.first, self.own, self.local = parts.place(me), parts.first(me), parts.own(me), parts.local(me)

    def __repr__(self) -> str:
        return f"<Grid of {self.shape} points over {self.dims} PEs, this one at {self.coords} with {self.own}>"

    # Fields ----------------------------------------------------------------------------
    def empty(self, dtype: DTypeLike = DEFAULT) -> NewArray:
        """A symmetric array of shape ``local``, not set: numpy.ndarray on the host, cupy.ndarray on a GPU.  Collective.

        Its rows are padded (``strides``), so that the address of each row's first own point is a multiple of 64 bytes.
        Raises as ``Team.empty``.  ``Team.free`` frees it.
        """
        self._context.guard.check_open()
        return self._context.arrays.empty(self.local, dtype, self._storage(dtype_of(dtype)))

    def full(self, value: Number, dtype: DTypeLike = None) -> NewArray:
        """An array as of ``empty``, with ``value`` at every point and in the halo.  Collective.  Raises as
        ``Team.full``."""
        array, arrays = self.empty(dtype_of_value(value) if dtype is None else dtype), self._context.arrays
        return arrays.set(array, lambda: self._context.backend.heap.fill(arrays.whole(array), scalar(value, array.dtype)))

    def zeros(self, dtype: DTypeLike = DEFAULT) -> NewArray:
        """An array as of ``empty``, of zeros.  Collective.  Raises as ``Team.zeros``."""
        return self.full(0, dtype)

    def interior(self, u: Any) -> Any:
        """The own points of an array of this grid: a view of shape ``own``.  Raises ValueError (shape)."""
        return self._array(u)[self._points((0,) * len(self.own))]

    def boundary(self, u: Any, side: Side) -> Any:
        """The own points that the neighbour at a side keeps in its halo: a view.  Raises ValueError (shape, side)."""
        return self._array(u)[self._points(self._step(side))]

    def halo_of(self, u: Any, side: Side) -> Any:
        """The halo beyond a side: a view.  Raises ValueError (shape, side).

        At the end of the grid no exchange changes the halo: it holds the values of the boundary.
        """
        return self._array(u)[self._points(self._step(side), in_halo=True)]

    def neighbour(self, side: Side) -> int | None:
        """The PE beyond a side; None at the end of the grid.  Raises ValueError (side)."""
        return self._parts.neighbour(self._context.job.me, self._step(side))

    def coordinates(self) -> tuple[NewArray, ...]:
        """The global indices of the own points, an array of int64 for each dimension, as numpy.ogrid gives them."""
        indices = np.ogrid[self._parts.part(self._context.job.me)]
        return tuple(device_array(self._context.backend, along, TABLE["int64"]) for along in indices)

    # Exchange --------------------------------------------------------------------------
    def plan_exchange(self, *fields: Array, corners: bool = False) -> Plan:
        """A plan that copies the neighbours' points to the halos of all fields, in one launch.  Collective.

        fields:  arrays that ``empty``, ``full`` or ``zeros`` of this grid returned, of any dtypes
        corners: True: also set the halo's points where two or three sides meet: from the PEs across edges and corners,
                 and at the ends of the grid from the neighbours' halos
        Raises TypeError, ValueError (no field; an array of another grid; an array given twice; different arrays on the
        PEs), SymmetricHeapExhausted.  A call of the plan raises PeerTimeout.
        """
        return plan_exchange(self._context, self._parts, self._fields(fields), fields, bool(corners))

    def overlap(self, exchange: Plan, stream: AnyStream | None = None, split: bool = True) -> Overlap:
        """Compute a new field in parts while its exchange is under way:

            with grid.overlap(exchange, stream) as parts:
                for part in parts:
                    step(part.first, part.stop, stream=part.stream)

        The first parts are the own points that neighbours wait for; the last part is all other own points, which the
        program computes while the first parts travel.  After the block, ``stream`` is ordered after all parts and the
        exchange.
        exchange: plan of the exchange of the field that is computed
        stream:   stream of the last part; None: the current stream
        split:    False: one part of all own points, then the exchange, to measure the gain of overlap
        Raises RuntimeError at the end of the block if the program did not take all parts.
        """
        self._context.guard.check_open()
        stream = self._context.backend.streams.current() if stream is None else stream
        if not split:
            end = tuple(h + n for h, n in zip(self.halo, self.own, strict=True))
            return overlapped(self._context.backend, stream, [(self.halo, end), (end, end)], exchange, stream)
        if self._push is None:
            self._push = self._context.backend.streams.new("high")
        return overlapped(self._context.backend, self._push, self._boxes, exchange, stream)

    # Sweeps ----------------------------------------------------------------------------
    def plan_sweep(
        self,
        formula: Callable[..., Any],
        u: Array,
        v: Array,
        sweeps: int,
        norm: bool | Literal["every"] = False,
        fields: Sequence[Array] = (),
        args: Sequence[float] = (),
        engine: EngineName = "auto",
        depth: int | None = None,
    ) -> Sweep:
        """A plan of ``sweeps`` sweeps, each of which replaces every point by the formula's value.  Collective.

        formula: a plain function of scalars of the fields' dtype: the point, then its neighbours, dimension by dimension,
                 minus before plus, then ``args``, then the value of the field in ``fields`` at the point.  A formula of
                 +, -, *, /, abs and math.sqrt, without ** and math.exp, has NumPy's bits, on any number of PEs and by
                 every engine
        u, v:    fields of this grid, float32 or float64.  u holds the start of each call and, after an even number of
                 sweeps, the result, so that the next call continues from it.  At the ends of the grid, the halos of both
                 hold the fixed values of the boundary
        norm:    True: compute the L2 norm of the change of the last sweep; "every": the norms of all sweeps.  The PEs'
                 parts must begin at multiples of 8 points along the last dimension, as ``Team.grid`` cuts them if it can
        fields:  one field of coefficients, which sweeps only read
        engine:  "plain", "blocked", "resident", or "auto": the engine that is predicted to be the fastest
        depth:   number of sweeps between two exchanges of halos; None: the engine chooses.  The grid's halo must be at
                 least as wide, except for the resident engine on GPUs, which has its own halos
        Raises on every PE TypeError, KernelError (a mistake in the formula's text), ValueError, Unsupported (dtype; an
        engine that can't run here), SymmetricHeapExhausted.  A call of the plan raises PeerTimeout.
        """

        def check() -> tuple[SweepArguments, list[ArrayView]]:
            views = [self._field(u_or_v) for u_or_v in (u, v, *fields)]
            return checked(self._parts, formula, views, args, sweeps, norm, engine, depth), views

        self._context.guard.check_open()
        try:
            arguments, checked_views = on_all(self._context.job, "plan of sweeps", check, lambda result: result[0].text)
            return Sweep(self._context, self._parts, self._plan_allreduce, arguments, checked_views)
        except (TypeError, ValueError) as error:
            raise error.with_traceback(None) from None

    # Whole fields ----------------------------------------------------------------------
    def gather(self, u: Array, root: int = 0) -> np.ndarray[Any, Any] | None:
        """The own points of all PEs, a numpy.ndarray of shape ``shape`` on PE root, None elsewhere.  Collective.

        Raises TypeError, ValueError (u, root), MemoryError, PeerTimeout.
        """
        self._context.guard.check_open()
        return self._whole.gather(self._field(u), check_pe(root, self._context.job.n_pes, "root"))

    def save(self, path: str | Path, **values: Array | Number | str) -> None:
        """Write fields to an HDF5 file, each as a dataset of shape ``shape`` with the argument's name; and numbers and
        texts, which ``load`` returns.  Collective.

        Also writes an XDMF file, u.h5.xdmf for u.h5, which ParaView opens: coordinates are indices, and the last
        dimension is ParaView's x.  An older file stays until the new file is complete.
        Raises on every PE TypeError, ValueError, or OSError if PE 0 can't write the file.
        """
        self._context.guard.check_open()
        plain = {name: value for name, value in values.items() if isinstance(value, PLAIN)}
        fields = {name: self._field(value) for name, value in values.items() if name not in plain}
        self._whole.save(Path(path), fields, plain)

    def load(self, path: str | Path, **fields: Array) -> dict[str, Any]:
        """Set the own points of fields from a file that ``save`` wrote, on any number of PEs.  Collective.

        Returns the numbers and texts of the file by name, as PE 0 passed them to ``save``.
        Raises on every PE TypeError, ValueError (no such dataset; another shape or dtype), or OSError if a PE can't read
        the file.
        """
        self._context.guard.check_open()
        return self._whole.load(Path(path), {name: (u, self._field(u)) for name, u in fields.items()})

    # Checks ----------------------------------------------------------------------------
    def _array(self, u: Any) -> Any:
        """``u``.  Raises ValueError unless it has the shape of this PE's part."""
        if getattr(u, "shape", None) != self.local:
            raise ValueError(f"an array of this grid has shape {self.local} on this PE, not {getattr(u, 'shape', None)}")
        return u

    def _fields(self, fields: Sequence[Any]) -> list[ArrayView]:
        """The array views of fields to exchange.  Raises NotInitialized, TypeError, ValueError."""
        self._context.guard.check_open()
        views = [self._field(u) for u in fields]
        if not views:
            raise ValueError("an exchange takes at least one field")
        if len({view.address for view in views}) < len(views):
            raise ValueError("an exchange got a field twice: give each field once")
        return views

    def _field(self, u: Any) -> ArrayView:
        """The array view of a symmetric array of this grid.  Raises TypeError, ValueError."""
        arrays = self._context.arrays
        view = arrays.array_view(u, True)
        self._array(u)
        if not arrays.holds(view) or arrays.storage(u) != self._storage(view.dtype):
            raise ValueError(
                "a field must be an array that this grid's empty, full or zeros returned: peers write its halo"
            )
        return view

    def _storage(self, dtype: DType) -> Storage:
        """The place of this PE's fields of a dtype in their allocation."""
        layout = layout_of(self._parts, self._context.job.me, dtype.item_bytes)
        return Storage(layout.number, layout.first, layout.strides, with_halo(self._parts.most, self.halo))

    def _points(self, step: Sizes, in_halo: bool = False) -> tuple[slice, ...]:
        return points_of(self._parts, self._context.job.me, step, in_halo)

    def _step(self, side: Side) -> Sizes:
        """The step to the neighbour at a side, by dimension.  Raises ValueError."""
        n = len(self.shape)
        known = [axis + sign for axis in AXES[:n] for sign in "-+"]
        if side not in known:
            raise ValueError(f"side {side!r} is none of {', '.join(known)}")
        return tuple((1 if side[1] == "+" else -1) if AXES[d] == side[0] else 0 for d in range(n))
