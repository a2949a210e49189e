"""The links of a simulated PE to other PEs."""

from collections.abc import Sequence
from typing import Any

from greenlet import getcurrent

from ..arrays.array_view import ArrayView
from .device import Machine
from .launches import Launch
from .memory import PEER
from .network import COPIED, POINTER
from .streams import Streams


class Links:
    """See ``pennympi.backend.Peers``."""

    needs_scratch = True

    def __init__(self, machine: Machine, me: int, pes: Sequence[int], streams: Streams):
        self._machine, self._me, self._pes, self._streams = machine, me, pes, streams
        network = machine.network
        self.by_pointer: Sequence[bool] = [network.by_pointer(me, pe) for pe in pes]
        offsets = [0 if pe == me else (1 + pe) * PEER for pe in pes]
        self.offsets: Sequence[int | None] = [
            offset if by_pointer else None for offset, by_pointer in zip(offsets, self.by_pointer, strict=True)
        ]
        one_node = all(network.by_pointer(pes[0], pe) for pe in pes)
        self.stores = self.ll128_safe = one_node or network.kind == COPIED
        self.ll128_in_nodes, self.multicast = True, network.kind == POINTER and machine.abilities.multicast

    def put(self, dst: int, src: int, nbytes: int, pe: int, stream: int) -> bool:
        """Return False: kernels make all puts."""
        return False

    get = put

    def copy(self, address: int, nbytes: int, pe: int, stream: int) -> None:
        def put() -> None:
            warp: Any = getcurrent()
            warp.network.put(warp, address, address, nbytes, self._pes[pe])

        self._streams.push(Launch("copy to a peer", put), stream)

    def quiet(self, stream: int) -> None:
        def wait() -> None:
            warp: Any = getcurrent()
            warp.network.quiet(warp)

        self._streams.push(Launch("completion of puts", wait), stream)

    def register(self, view: ArrayView) -> None:
        self._machine.memory.share(self._me, view.address, True)

    def unregister(self, view: ArrayView) -> None:
        self._machine.memory.share(self._me, view.address, False)

    def describe(self) -> list[tuple[str, str]]:
        return [("links", f"simulated, {self._machine.network.kind}")]

    def close(self) -> None:
        """Do nothing."""
