"""Rules by which ``algorithm="auto"`` chooses in a collective without costs: the ``AUTO`` of its folder.

Packets are faster for small messages, since no signal follows them; for large messages they use more wire time.
"""

import sys
from collections.abc import Callable, Mapping

from .algorithm import MOST_PACKET_PES, Topology

PACKETS_MAX_BYTES = 16 << 20  # bytes of a part for one PE: measured on two H200s and, with four PEs, on H100s
TWO_STEPS_BYTES = 2 << 20  # bytes that a link carries during a second latency step and its signals
Rule = Callable[[Topology, int], str]  # (topology, bytes) -> name of the algorithm


def packets_then(
    large: Mapping[int, str], fallback: str, most_bytes: Callable[[int], int] = lambda n_pes: PACKETS_MAX_BYTES
) -> Rule:
    """The rule: "packets" for messages of at most ``most_bytes`` (n_pes), ``large`` for larger messages.

    large:    {least number of PEs: algorithm}
    fallback: algorithm for teams whose links are not LL128-safe
    """

    def rule(topology: Topology, nbytes: int) -> str:
        if not topology.ll128_safe:
            return fallback
        n_pes = max(2, topology.n_pes)
        if nbytes <= most_bytes(n_pes) and topology.packets and n_pes <= MOST_PACKET_PES:
            return "packets"
        return large[max(n for n in large if n <= n_pes)]

    return rule


def packets_where_safe(fallback: str) -> Rule:
    """The rule: "packets" for messages of any size if packets can run.

    A slot also holds a head, so an inbox has room for half as many PEs as without heads.
    """
    return packets_then({2: fallback}, fallback, lambda n_pes: sys.maxsize if n_pes <= MOST_PACKET_PES // 2 else -1)


def of_root(n_pes: int) -> int:
    """The most bytes for which packets are fastest if the root sends to every other PE, or receives from them."""
    return PACKETS_MAX_BYTES if n_pes == 2 else TWO_STEPS_BYTES // (n_pes - 2)
