"""The tables of AllReduce algorithms: one file each.

TABLE: for every call;  PLANNED: for plans whose ``out`` is the same symmetric object on every PE
"""

from ..algorithm import table

_ANY_CALL = (
    "ring simple_ring multi_ring hierarchical hierarchical_packets one_shot one_shot_packets two_shot two_shot_packets "
    "half_butterfly halving_doubling recursive_doubling tree nvls"
)
TABLE = table(__name__, *_ANY_CALL.split())
PLANNED = table(__name__, "two_shot_direct", "two_shot_copied")
