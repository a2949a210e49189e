"""The plain sweep kernel, ``march``, which all kernels call, and how its body for a device is put in.

``march`` is the one step that has a body for each device (``march_cuda.py``, ``march_host.py``), made for a number of
sweeps, for the norms that are wanted, and for a dtype.
"""

from collections.abc import Callable
from functools import cache, partial
from importlib import import_module
from types import FunctionType

from pennympi.kernels.block import block, blocks, copy

from .records import FieldPair, Pass, Rows


def march(b, fields: FieldPair, band: Rows, work: Pass):
    """new = work.n_sweeps sweeps of old in a band of rows, with the changes added to work.words; see ``exact_sum.py``.

    ``old`` has work.n_sweeps more rows on either side of the band.  b is the number of a block, of those that cover all
    columns of all chunks; on a CPU block 0 does everything.  On a GPU n_sweeps and n_summed are constants of the body.
    """
    raise NotImplementedError("march() has a body for each device: compile kernels with kernels.bound()")


def sweeps(ctx, fields: FieldPair, band: Rows, work: Pass):
    """``march`` by all blocks."""
    march(block(), fields, band, work)


def wrap(ctx, field, rows, depth, pitch_bytes):
    """Close the ring inside one PE: its last ``depth`` rows are the halo above, its first ones the halo below."""
    nbytes = depth * pitch_bytes
    for side in range(block(), 2, blocks()):
        if side == 0:
            copy(field, field + rows * pitch_bytes, nbytes)
        else:
            copy(field + nbytes + rows * pitch_bytes, field + nbytes, nbytes)


@cache
def bound(kernel: Callable[..., None], device: str, count: int, norms: str, dtype: str, nx: int) -> Callable[..., None]:
    """``kernel`` with the body of ``march`` for a device ("host" or "cuda"), ready for ``team.kernel``.

    count: sweeps of a pass;  norms: those that a pass computes, "none", "last" (of its last sweep) or "all"
    """
    assert isinstance(kernel, FunctionType)
    body = import_module(f".march_{device}", __package__).made(count, norms, dtype, nx)
    clone = FunctionType(kernel.__code__, {**kernel.__globals__, "march": body}, kernel.__name__)
    clone.__annotations__ = kernel.__annotations__
    clone.__module__ = kernel.__module__
    clone.__qualname__ = f"{kernel.__name__}_{body.__name__}"
    clone.on_gpu = partial(bound, kernel, "cuda", count, norms, dtype, nx)  # type: ignore[attr-defined]  # precompile
    return clone
