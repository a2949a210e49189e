"""The kernels of a team, compiled for this CPU."""

from collections.abc import Callable
from typing import Any

from ...compile.bind import parameters
from ...compile.options import PLAIN, KernelOptions
from .compile import compiled
from .launch import HostKernel
from .peers import Peers


class Compiler:
    """See ``pennympi.backend.Compiler``."""

    def __init__(self, peers: Peers):
        self._peers = peers

    def kernel(self, kernel: Callable[..., Any], name: str, options: KernelOptions = PLAIN) -> HostKernel:
        """A kernel of this team.

        Constants stay arguments, and a reduction calls loops through ``ctx``, so the same machine code serves all calls.
        """
        residual = "residual" in parameters(kernel) and "residual" not in options.constants
        many_blocks = options.bounds is not None
        function = compiled(kernel, options.elements, options.kinds_of(kernel))
        return HostKernel(self._peers, function, name, options.reduction, residual, many_blocks)
