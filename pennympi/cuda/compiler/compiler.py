"""The kernels of a team, compiled for its GPU and loaded."""

from collections.abc import Callable
from typing import Any

from nvshmem import bindings as nvshmem

from ...compile.options import PLAIN, KernelOptions
from ..memory.peers import Peers
from .compile import Target, call_number, cubin
from .launch import CudaKernel, load


class Compiler:
    """See ``pennympi.backend.Compiler``.  cc: compute capability of the GPU"""

    def __init__(self, peers: Peers, cc: tuple[int, int]):
        self._peers, self._target = peers, Target(cc, not peers.stores)
        self._on_load = None if peers.stores else nvshmem.cumodule_init  # for modules that contain NVSHMEM's device code
        self._kernels: dict[tuple[Callable[..., Any], str, KernelOptions], CudaKernel] = {}

    def kernel(self, kernel: Callable[..., Any], name: str, options: KernelOptions = PLAIN) -> CudaKernel:
        key = kernel, name, options
        if key not in self._kernels:
            function = load(cubin(kernel, name, options, self._target), self._on_load)
            self._kernels[key] = CudaKernel(self._peers, function, kernel, options, self._target.overlap)
            self._peers.call_names[call_number(name)] = name
        return self._kernels[key]
