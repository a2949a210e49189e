"""The table of Reduce algorithms: one file each."""

from ..algorithm import table
from ..by_size import packets_then_large

TABLE = table(__name__, "ring", "packets", "direct", "gathered")
AUTO = packets_then_large({2: "direct", 3: "gathered"}, "ring")
