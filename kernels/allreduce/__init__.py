"""The table of AllReduce algorithms: one file and one row each."""

from .half_butterfly import ALGORITHM as half_butterfly
from .halving_doubling import ALGORITHM as halving_doubling
from .one_shot import ALGORITHM as one_shot
from .one_shot_packets import ALGORITHM as one_shot_packets
from .recursive_doubling import ALGORITHM as recursive_doubling
from .ring import ALGORITHM as ring
from .simple_ring import ALGORITHM as simple_ring
from .tree import ALGORITHM as tree
from .two_shot import ALGORITHM as two_shot
from .two_shot_packets import ALGORITHM as two_shot_packets

TABLE = {
    row.name: row
    for row in (
        ring,
        simple_ring,
        one_shot,
        one_shot_packets,
        two_shot,
        two_shot_packets,
        half_butterfly,
        halving_doubling,
        recursive_doubling,
        tree,
    )
}
