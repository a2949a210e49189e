"""The table of AllReduce algorithms: one file and one row each."""

from .hierarchical import ALGORITHM as hierarchical
from .multi_ring import ALGORITHM as multi_ring
from .one_shot import ALGORITHM as one_shot
from .one_shot_packets import ALGORITHM as one_shot_packets
from .ring import ALGORITHM as ring
from .simple_ring import ALGORITHM as simple_ring
from .two_shot import ALGORITHM as two_shot
from .two_shot_packets import ALGORITHM as two_shot_packets

TABLE = {
    row.name: row
    for row in (
        ring,
        simple_ring,
        multi_ring,
        hierarchical,
        one_shot,
        one_shot_packets,
        two_shot,
        two_shot_packets,
    )
}
