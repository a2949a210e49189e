"""AllReduce with a residual and an RMSNorm of the rows behind it, in one kernel."""

import struct
from dataclasses import dataclass, field, replace
from math import isfinite
from typing import Any

from mpi4py.MPI import IN_PLACE

from ..annotations import Array
from ..arrays.dtypes import NORMED
from ..arrays.span import Span, check_alike, check_apart, overlap
from ..backend import Run
from ..compile.bind import parameters
from ..compile.options import KernelOptions
from ..errors import Unsupported
from ..kernels.algorithm import Algorithm, Place, row_plan
from ..kernels.allreduce import PLANNED
from ..kernels.allreduce import TABLE as WITHOUT_NORM
from ..kernels.allreduce_norm import TABLE
from ..kernels.allreduce_norm.alone import add_and_normalise
from ..selection.thresholds import one_or_two_hops, selector
from ..settings import setting
from .allreduce import AllReduce
from .base import Request

MOST_ROW_ELEMS = 16384
choose = selector("allreduce", TABLE, one_or_two_hops)


@dataclass(frozen=True, eq=False)
class RMSNorm:
    """The norm of an ``allreduce``: each row times weight / sqrt(mean of the row's squares + eps).

    weight: (row_elems,) elements of the dtype of x, 1 to 16384: the length of a row
    eps:    a number that is not negative
    Raises TypeError or ValueError (eps).
    """

    weight: Array
    eps: float = 1e-6
    eps_bits: int = field(init=False, repr=False)  # as kernels take it

    def __post_init__(self) -> None:
        try:
            eps = float(self.eps)
        except (TypeError, ValueError):
            raise TypeError(f"eps {self.eps!r} is not a number") from None
        if not (isfinite(eps) and eps >= 0):
            raise ValueError(f"eps {self.eps!r}: pass a number that is not negative, such as 1e-6")
        object.__setattr__(self, "eps_bits", struct.unpack("=q", struct.pack("=d", eps))[0])


def arguments(x: Any, out: Any, op: Any, residual: Any, norm: Any, order: str) -> tuple[Any, ...]:
    """What ``AllReduceNorm`` checks.  Raises TypeError (norm), Unsupported (order)."""
    if order != "any":
        raise Unsupported("a norm's bits depend on the plan: leave order out, or call allreduce without norm")
    if not isinstance(norm, RMSNorm):
        raise TypeError(f"norm {norm!r} is none: pass norm=pennympi.RMSNorm(weight, eps)")
    shape = getattr(out if x is IN_PLACE else x, "shape", None)
    return x, out, op, residual, norm.weight, norm.eps_bits, shape[-1] if shape else None


class AllReduceNorm(AllReduce):
    """residual += op over all PEs of x, and out = the RMSNorm of its rows; it shares the workspaces of AllReduce."""

    table = TABLE
    address_params = ("out", "src", "residual", "weight")

    def choose(self, name: str | Algorithm, place: Place, nbytes: int, dtype: str, op: str, /) -> Algorithm:
        """See ``Collective``: an algorithm that normalises rows."""
        if name == "auto":
            name = setting("PENNYMPI_ALLREDUCE")
        if name in {*WITHOUT_NORM, *PLANNED} - {*TABLE}:
            raise Unsupported(f"{name} has no norm: use algorithm='auto', or one of {', '.join(TABLE)}")
        return choose(name, place, nbytes, dtype, op)

    def check(
        self, x: Any, out: Any, op: Any, residual: Any = None, weight: Any = None, eps_bits: int = 0, last: Any = None
    ) -> Request:
        """See ``Collective``.  last: the last dimension of x, where it has one"""
        if x is IN_PLACE:
            x, out = out, None
        request = super().check(x, out, op)
        if residual is None:
            raise ValueError("norm needs a residual, which the sum is added to: pass residual=r, zeros if there is none")
        dst, src = request.addresses
        given, added, scale = (self.backend.span(one, one is residual) for one in (x, residual, weight))
        self.arrays.holds(added), self.arrays.holds(scale)
        check_alike(x=given, residual=added)
        row_elems = scale.count
        if given.dtype.name not in NORMED:
            raise Unsupported(f"there is no norm of {given.dtype.name}: convert the arrays to one of {', '.join(NORMED)}")
        if scale.dtype is not given.dtype:
            raise ValueError(f"weight is of {scale.dtype.name} and x of {given.dtype.name}: convert one of them")
        if request.op not in ("sum", "avg"):
            raise ValueError(f"op {op!r} with a norm: use sum or mean, or call allreduce without norm")
        if not 1 <= row_elems <= MOST_ROW_ELEMS:
            raise ValueError(
                f"weight has {row_elems} elements: a row has 1 to {MOST_ROW_ELEMS}; call allreduce without norm"
            )
        if given.count % row_elems or last not in (None, row_elems):
            raise ValueError(
                f"weight has {row_elems} elements and {'x' if last is None else f'a row of x {last}'}"
                f"{f' {given.count}' if last is None else ''}: the last dimension of x must be that of weight"
            )
        self._check_apart(given, added, scale, Span(dst, given.count, given.dtype, out))
        addresses = dst, src, added.address, scale.address
        unaligned = dst | src | added.address | scale.address | scale.nbytes
        return replace(request, addresses=addresses, aligned=not unaligned & 15, row_elems=row_elems, eps_bits=eps_bits)

    def _check_apart(self, given: Span, added: Span, scale: Span, out: Span) -> None:
        """Raise ValueError where what is written overlaps."""
        check_apart("residual=x with another out", residual=added, x=given)
        if overlap(added, out):
            raise ValueError(
                "out and residual overlap, and both are results: pass another out, or a copy of the residual"
            )
        for name, written in (("out", out), ("residual", added)):
            if written.count and overlap(scale, written):
                raise ValueError(f"weight and {name} overlap, and {name} is a result: pass a copy of the weight")

    def algorithm_of_plan(self, request: Request, algorithm: str | Algorithm) -> str | Algorithm:
        """As an eager call."""
        return algorithm

    def single_pe_run(self, request: Request) -> Run:
        """The launch of a team of one PE: residual += x, and out = the RMSNorm of its rows."""
        dtype, count = request.dtype, request.count
        limits = replace(self.limits(None), row_elems=request.row_elems, cluster=1)  # a cluster gains nothing
        plan = row_plan(count, dtype.item_bytes, 1, MOST_ROW_ELEMS, limits)
        options = KernelOptions(reduction=(dtype, "sum"), aligned=request.aligned)
        kernel = self.backend.kernel(add_and_normalise, "allreduce of one PE", options)
        values = {
            **dict.fromkeys(parameters(add_and_normalise), 0),
            "n_elems": count,
            "item_bytes": dtype.item_bytes,
            "share_elems": plan.share_elems,
            "row_elems": request.row_elems,
            "eps_bits": request.eps_bits,
        }
        names = parameters(add_and_normalise)[1:]
        open_params = tuple(map(names.index, self.address_params))
        return kernel.prepare(plan.blocks, [values[name] for name in names], open_params, plan.threads)
