"""The plain sweep kernels, ``march``, which all kernels but Chebyshev's call, and how its body for a device is put in.

``march`` is the one step that has a body for each device (``march_cuda.py``, ``march_host.py``), made for a number of
sweeps, for the norms that are wanted, and for a dtype.
"""

from collections.abc import Callable
from functools import cache
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


summed_march = march  # for a kernel that calls two of them


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
def bound(
    kernel: Callable[..., None], device: str, bodies: tuple[tuple[str, int, str], ...], dtype: str, nx: int
) -> Callable[..., None]:
    """``kernel`` with the bodies of a device ("host" or "cuda"), ready for ``team.kernel``.

    bodies: (name in the kernel, sweeps of a pass, norms: "none", "last" or "all"), for instance ("march", 1, "none")
    """
    assert isinstance(kernel, FunctionType)
    module = import_module(f".march_{device}", __package__)
    made = {name: module.made(sweeps, norms, dtype, nx) for name, sweeps, norms in bodies}
    clone = FunctionType(kernel.__code__, {**kernel.__globals__, **made}, kernel.__name__)
    clone.__annotations__ = kernel.__annotations__
    clone.__module__ = kernel.__module__
    clone.__qualname__ = "_".join([kernel.__name__, *(body.__name__ for body in made.values())])
    return clone
