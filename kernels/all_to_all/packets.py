"""All-to-all by packets: every PE sends each other PE its part, no barrier.

Source: the LL128 protocol of NCCL, as in one_shot_packets.py of AllReduce.  One hop:
the latency of a store and of the poll that sees it.
"""

from ..algorithm import PACKETS, Algorithm, packet_plan, requires_ll128
from ..exchange_rows import exchange_packets
from ..records import PE, Transfer, Work


def packets(pe: PE, call: Transfer, work: Work):
    """out (n_pes, nbytes) = part ``me`` of src (n_pes, nbytes) of every PE; out may be src.

    inbox: see ``exchange_packets``
    """
    exchange_packets(pe, call, work, call.nbytes)


ALGORITHM = Algorithm(
    name="packets",
    sentence="every PE sends each other PE its part in packets that carry their epoch; one hop, no barrier",
    needs="NVLink, or one device or host",
    kernel=packets,
    plan=lambda count, item_bytes, acc_bytes, topology, limits: packet_plan(count, item_bytes, 1, topology.n_pes, limits),
    signals=lambda topology: 1,
    slots=lambda topology, limits: topology.n_pes,
    holds=PACKETS,
    outbox=False,
    why_not=requires_ll128,
)
