"""The table of ReduceScatter algorithms: one file and one row each."""

from ..by_size import packets_then_direct
from .direct import ALGORITHM as direct
from .packets import ALGORITHM as packets
from .ring import ALGORITHM as ring

TABLE = {row.name: row for row in (ring, packets, direct)}
AUTO = packets_then_direct("ring")
