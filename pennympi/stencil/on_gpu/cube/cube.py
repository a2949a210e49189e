"""Passes over three-dimensional boxes on a GPU."""

from functools import cache

from ....compile.pass_kernel import PassKernel
from ....kernels.sweep.formula import Stencil
from .cube_blocked import TILES, sweep_blocked_pass
from .cube_once import sweep_once_pass


@cache
def pass_kernel(stencil: Stencil, depth: int, norms: str, exchanges: bool) -> PassKernel:
    """A pass of ``depth`` sweeps."""
    return sweep_once_pass(stencil, norms, exchanges) if depth == 1 else sweep_blocked_pass(stencil, depth, norms)


def most_sweeps(stencil: Stencil) -> int:
    """The most sweeps of a pass."""
    return max(depth for dtype, depth in TILES if dtype == stencil.dtype)
