"""Direct all-to-all: every PE puts each other PE its part into its inbox, then straight into its out; one latency step.

Source: the pushed one-shot of AllReduce, with a row for each PE; see ``exchange_rows`` for
when out may be written.
"""

from ..algorithm import per_pe
from ..exchange_rows import SIGNALS, exchange_rows
from ..plans import piece_algorithm
from ..records import PE, Transfer, Work


def direct(pe: PE, call: Transfer, work: Work):
    """out (n_pes, nbytes) = part ``me`` of src (n_pes, nbytes) of every PE; out may be src."""
    exchange_rows(pe, call, work, call.nbytes)


ALGORITHM = piece_algorithm(direct, slots=per_pe(2), signals=per_pe(SIGNALS))
