"""Passes over three-dimensional boxes on a GPU."""

from functools import cache

from ...compile.pass_kernel import PassKernel
from ...kernels.sweep.formula import Stencil
from .cube_blocked import TILES, sweep_blocked_pass
from .cube_once import sweep_once_pass


@cache
def pass_kernel(stencil: Stencil, depth: int, norms: str) -> PassKernel:
    """A pass of ``depth`` sweeps."""
    return sweep_once_pass(stencil, norms) if depth == 1 else sweep_blocked_pass(stencil, depth, norms)


def why_not(stencil: Stencil, depth: int) -> str | None:
    """Why there is no pass of ``depth`` sweeps; None if there is."""
    if depth == 1 or (stencil.dtype, depth) in TILES:
        return None
    most = max(deepest for dtype, deepest in TILES if dtype == stencil.dtype)
    return f"a pass over three dimensions does at most {most} sweeps on a GPU, and depth is {depth}"
