"""Faults that the texts have today, in one place: what fails is not run, and what is mended is taken out of here.

Each is (table, row, network, arrays); see ``program.Case``.
"""

from .network import ANY_ORDER, IN_ORDER, NETWORKS
from .program import PLAIN, SYMMETRIC

# Two signals to one word arrive in either order: a wait of >= takes the later for the earlier, or waits for ever.
ONE_WORD = (
    ("allreduce", "one_shot"),
    ("allreduce", "half_butterfly"),
    ("allreduce", "recursive_doubling"),
    ("allreduce", "tree"),
    ("all_gather", "naive"),
    ("all_gather", "ring"),
    ("reduce_scatter", "ring"),
    ("broadcast", "ring"),
    ("reduce", "ring"),
    ("all_to_all", "pairwise"),
    ("exchange", "put_barrier"),
    ("exchange", "put_fence_signal"),
    ("exchange", "put_signal"),
    ("solver", "exchanging_sweeps"),
    ("solver", "persistent_sweeps"),
)
# Puts by NVSHMEM from a user's array, which may be in plain memory.
FROM_USERS = (
    ("allreduce", "one_shot"),
    ("allreduce", "two_shot"),
    ("allreduce", "hierarchical"),
    ("exchange", "put_barrier"),
    ("exchange", "put_fence_signal"),
    ("exchange", "put_signal"),
)
# The call is over, and the array is another's, before a put by NVSHMEM has read it.
NOT_READ = (("exchange", "put_signal"), ("one_sided", "put"), ("one_sided", "put_signal"))
# A launch ends before its neighbours' last rows have come, and the field is kept aside without them.
STALE = (("solver", "persistent_again"),)

KNOWN = {(*row, ANY_ORDER, arrays) for row in ONE_WORD for arrays in (SYMMETRIC, PLAIN)}
KNOWN |= {(*row, network, PLAIN) for row in FROM_USERS for network in (IN_ORDER, ANY_ORDER)}
KNOWN |= {(*row, network, SYMMETRIC) for row in NOT_READ for network in (IN_ORDER, ANY_ORDER)}
KNOWN |= {(*row, network, SYMMETRIC) for row in STALE for network in NETWORKS}
