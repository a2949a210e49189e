"""Passes of sweeps on a GPU."""

from ...compile.pass_kernel import PassKernel
from ...kernels.sweep.formula import Stencil
from . import cube, cutting, line, march
from .level_squares import level_squares
from .rows import wall_of


def deepest(stencil: Stencil) -> int:
    """Sweeps of a pass at most."""
    return cube.deepest(stencil) if stencil.n_dims == 3 else cutting.deepest(stencil)


def pass_kernel(stencil: Stencil, depth: int, norms: str, end: int) -> PassKernel:
    """A pass of ``depth`` sweeps.

    norms: "none", "last" (of the last sweep) or "every"
    end:   index, in a row's storage, of the fixed value after the last point; -1: a neighbour PE follows
    """
    if stencil.n_dims == 3:
        return cube.pass_kernel(stencil, depth, norms)
    shared_bytes = cutting.WARPS * level_squares(stencil, depth, norms).shared_bytes
    bounds, launch = cutting.bounds(stencil, depth, norms), cutting.launch(stencil, depth, norms)
    if stencil.n_dims == 1:
        return PassKernel(line.march(stencil, depth, norms), bounds, shared_bytes, 0, launch)
    return PassKernel(march.march(stencil, depth, norms, wall_of(stencil, end)), bounds, shared_bytes, 0, launch)
