"""What ``algorithm="auto"`` takes of a collective without costs: a rule of (topology, bytes), the ``AUTO`` of its folder.

Packets while they are small, since no signal follows them; beyond, they use more wire time than signals do.
"""

from collections.abc import Callable, Mapping

from .algorithm import MOST_PACKET_PES, Topology

PACKETS_MAX_BYTES = 16 << 20  # that a PE sends, as measured for AllReduce between two H200s
TWO_STEPS_BYTES = 2 << 20  # that a link carries in the time of a second latency step and its signals
Rule = Callable[[Topology, int], str]  # (topology, bytes) -> name of the algorithm


def _sends_packets(topology: Topology) -> bool:
    return topology.packets and topology.n_pes <= MOST_PACKET_PES


def packets_then_direct(fallback: str) -> Rule:
    """For a collective in which every PE sends ``nbytes`` to every other PE: "packets" if small, else "direct".

    fallback: the algorithm for teams in which stores do not reach every PE
    """

    def rule(topology: Topology, nbytes: int) -> str:
        if not topology.ll128_safe:
            return fallback
        small = nbytes * (topology.n_pes - 1) <= PACKETS_MAX_BYTES
        return "packets" if small and _sends_packets(topology) else "direct"

    return rule


def packets_then_large(large: Mapping[int, str], fallback: str) -> Rule:
    """For a collective in which the root sends ``nbytes`` to every other PE, or receives them: "packets" if small.

    large:    the algorithm beyond that threshold, by number of PEs (an entry serves more PEs up to the next entry)
    fallback: the algorithm for teams in which stores do not reach every PE
    """

    def rule(topology: Topology, nbytes: int) -> str:
        if not topology.ll128_safe:
            return fallback
        n_pes = max(2, topology.n_pes)
        max_bytes = PACKETS_MAX_BYTES if n_pes == 2 else TWO_STEPS_BYTES // (n_pes - 2)
        if nbytes <= max_bytes and _sends_packets(topology):
            return "packets"
        return large[max(n for n in large if n <= n_pes)]

    return rule
