"""Sweeps on a GPU."""

from ...compile.pass_kernel import PassKernel
from ...kernels.sweep.formula import Stencil
from . import cube, cutting, line, march


def why_not(stencil: Stencil, depth: int) -> str:
    """Why there is no pass of ``depth`` sweeps; "": there is."""
    if stencil.n_dims == 3:
        return cube.why_not(stencil, depth)
    most = cutting.deepest(stencil)
    return "" if depth <= most else f"a pass of this formula does at most {most} sweeps on a GPU, and depth is {depth}"


def pass_kernel(stencil: Stencil, depth: int, norms: str) -> PassKernel:
    """A pass of ``depth`` sweeps.  norms: "none", "last" (of the last sweep) or "every\""""
    if stencil.n_dims == 3:
        return cube.pass_kernel(stencil, depth, norms)
    kernel = march.march if stencil.n_dims == 2 else line.march
    bounds, launch = cutting.bounds(stencil, depth, norms), cutting.launch(stencil, depth, norms)
    return PassKernel(kernel(stencil, depth, norms), bounds, 0, 0, launch)
