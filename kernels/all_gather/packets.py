"""AllGather by packets: every PE sends its part to each other PE, no barrier.

Source: the LL128 protocol of NCCL, as in one_shot_packets.py of AllReduce.  One hop:
the latency of a store and of the poll that sees it.
"""

from ..algorithm import PACKETS, Algorithm, packet_plan, requires_ll128
from ..exchange_rows import exchange_packets
from ..records import PE, Transfer, Work


def packets(pe: PE, call: Transfer, work: Work):
    """out (n_pes, nbytes) = src (nbytes,) of every PE; src may be out[me].

    inbox: see ``exchange_packets``
    """
    exchange_packets(pe, call, work, 0)


ALGORITHM = Algorithm(
    name="packets",
    sentence="every PE sends its part to each other PE in packets that carry their epoch; one hop, no barrier",
    needs="NVLink, or one device or host",
    kernel=packets,
    plan=lambda count, item_bytes, acc_bytes, topology, limits: packet_plan(count, item_bytes, 1, topology.n_pes, limits),
    signals=lambda topology: 1,
    slots=lambda topology, limits: topology.n_pes,
    holds=PACKETS,
    outbox=False,
    why_not=requires_ll128,
)
