"""Direct AllGather: every PE puts its part into each other PE's inbox, then straight into its out; one latency step.

Source: the pushed one-shot of AllReduce, and zero-copy AllGather over symmetric
memory (NCCL's symmetric kernels); see ``exchange_rows`` for when out may be written.
"""

from ..algorithm import per_pe
from ..exchange_rows import SIGNALS, exchange_rows
from ..plans import piece_algorithm
from ..records import ONE_ROW, PE, Transfer, Work


def direct(pe: PE, call: Transfer, work: Work):
    """out (n_pes, nbytes) = src (nbytes,) of every PE; src may be out[me]."""
    exchange_rows(pe, call, work, ONE_ROW)


ALGORITHM = piece_algorithm(direct, slots=per_pe(2), signals=per_pe(SIGNALS))
