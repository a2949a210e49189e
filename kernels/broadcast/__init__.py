"""The table of Broadcast algorithms: one file each."""

from ..algorithm import table
from ..by_size import packets_then_large

TABLE = table(__name__, "ring", "packets", "spread")
AUTO = packets_then_large({2: "spread"}, "ring")
