"""The table of ReduceScatter algorithms: one file each."""

from ..algorithm import table
from ..by_size import packets_then

TABLE = table(__name__, "ring", "packets", "direct")
AUTO = packets_then({2: "direct"}, "ring")
