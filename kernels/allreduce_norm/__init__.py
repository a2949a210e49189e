"""The table of AllReduce algorithms with an RMSNorm of the result: one file and one row each, named as in AllReduce."""

from .one_shot import ALGORITHM as one_shot
from .one_shot_packets import ALGORITHM as one_shot_packets
from .two_shot_packets import ALGORITHM as two_shot_packets

TABLE = {row.name: row for row in (one_shot, one_shot_packets, two_shot_packets)}
