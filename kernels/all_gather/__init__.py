"""The table of AllGather algorithms: one file and one row each."""

from ..by_size import packets_then_direct
from .direct import ALGORITHM as direct
from .naive import ALGORITHM as naive
from .packets import ALGORITHM as packets
from .ring import ALGORITHM as ring

TABLE = {row.name: row for row in (naive, ring, packets, direct)}
AUTO = packets_then_direct("ring")
