"""The table of Broadcast algorithms: one file and one row each."""

from ..by_size import packets_then_large
from .packets import ALGORITHM as packets
from .ring import ALGORITHM as ring
from .spread import ALGORITHM as spread

TABLE = {row.name: row for row in (ring, packets, spread)}
AUTO = packets_then_large({2: "spread"}, "ring")
