"""The table of Reduce algorithms: one file and one row each."""

from ..by_size import packets_then_large
from .direct import ALGORITHM as direct
from .gathered import ALGORITHM as gathered
from .packets import ALGORITHM as packets
from .ring import ALGORITHM as ring

TABLE = {row.name: row for row in (ring, packets, direct, gathered)}
AUTO = packets_then_large({2: "direct", 3: "gathered"}, "ring")
