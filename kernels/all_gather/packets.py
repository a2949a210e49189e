"""AllGather by packets: every PE sends its part to each other PE, without a barrier; one latency step.

Source: the LL128 protocol of NCCL.
"""

from ..exchange_rows import exchange_packets
from ..plans import packet_algorithm
from ..records import ONE_ROW, PE, Transfer, Work


def packets(pe: PE, call: Transfer, work: Work):
    """out (n_pes, nbytes) = src (nbytes,) of every PE; src may be out[me]."""
    exchange_packets(pe, call, work, ONE_ROW)


ALGORITHM = packet_algorithm(packets)
