"""All-to-all by packets: every PE sends each other PE its part, without a barrier; one latency step.

Source: the LL128 protocol of NCCL.
"""

from ..exchange_rows import exchange_packets
from ..plans import packet_algorithm
from ..records import PE, Transfer, Work


def packets(pe: PE, call: Transfer, work: Work):
    """out (n_pes, nbytes) = part ``me`` of src (n_pes, nbytes) of every PE; out may be src."""
    exchange_packets(pe, call, work, call.nbytes)


ALGORITHM = packet_algorithm(packets)
