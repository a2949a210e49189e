"""The tables of AllReduce algorithms: one file and one row each.

TABLE: for every call;  PLANNED: for plans whose ``out`` is the same symmetric object on every PE
"""

from .half_butterfly import ALGORITHM as half_butterfly
from .halving_doubling import ALGORITHM as halving_doubling
from .hierarchical import ALGORITHM as hierarchical
from .hierarchical_packets import ALGORITHM as hierarchical_packets
from .multi_ring import ALGORITHM as multi_ring
from .nvls import ALGORITHM as nvls
from .one_shot import ALGORITHM as one_shot
from .one_shot_packets import ALGORITHM as one_shot_packets
from .recursive_doubling import ALGORITHM as recursive_doubling
from .ring import ALGORITHM as ring
from .simple_ring import ALGORITHM as simple_ring
from .tree import ALGORITHM as tree
from .two_shot import ALGORITHM as two_shot
from .two_shot_copied import ALGORITHM as two_shot_copied
from .two_shot_direct import ALGORITHM as two_shot_direct
from .two_shot_packets import ALGORITHM as two_shot_packets

ANY_CALL = (
    ring,
    simple_ring,
    multi_ring,
    hierarchical,
    hierarchical_packets,
    one_shot,
    one_shot_packets,
    two_shot,
    two_shot_packets,
    half_butterfly,
    halving_doubling,
    recursive_doubling,
    tree,
    nvls,
)
TABLE = {row.name: row for row in ANY_CALL}
PLANNED = {row.name: row for row in (two_shot_direct, two_shot_copied)}
