"""The table of Broadcast algorithms: one file each."""

from ..algorithm import table
from ..by_size import of_root, packets_then

TABLE = table(__name__, "ring", "packets", "spread")
AUTO = packets_then({2: "spread"}, "ring", of_root)
