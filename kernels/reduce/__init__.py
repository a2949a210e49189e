"""The table of Reduce algorithms: one file each."""

from ..algorithm import table
from ..by_size import of_root, packets_then

TABLE = table(__name__, "ring", "packets", "direct", "gathered")
AUTO = packets_then({2: "direct", 3: "gathered"}, "ring", of_root)
