"""Passes of sweeps on a GPU."""

from ...compile.pass_kernel import PassKernel
from ...compile.unroll import specialised
from ...kernels.sweep.formula import Stencil
from .cube import cube
from .march import cutting
from .march.level_squares import norms_of
from .march.line import march_along
from .march.march import march_down
from .march.rows import NO_WALL, March, wall_of


def most_sweeps(stencil: Stencil) -> int:
    """The most sweeps of a pass."""
    return cube.most_sweeps(stencil) if stencil.n_dims == 3 else cutting.most_sweeps(stencil)


def pass_kernel(stencil: Stencil, depth: int, norms: str, end: int, exchanges: bool) -> PassKernel:
    """A pass of ``depth`` sweeps.

    norms: "none", "last" (of the last sweep) or "every"
    end:   as ``SweepProblem.end``
    exchanges: the kernel is a part of one that exchanges halos (``kernels/sweep/exchanging.py``)
    """
    if stencil.n_dims == 3:
        return cube.pass_kernel(stencil, depth, norms, exchanges)
    wall = wall_of(stencil, end) if stencil.n_dims == 2 else NO_WALL
    march = March(stencil, depth, norms, wall)
    kernel = specialised(march_down if stencil.n_dims == 2 else march_along, march)
    shared_bytes = cutting.WARPS * norms_of(march).shared_bytes
    return PassKernel(kernel, cutting.bounds(march), shared_bytes, 0, cutting.launch(march))
