"""The table of all-to-all algorithms: one file each."""

from ..algorithm import table
from ..by_size import packets_then

TABLE = table(__name__, "pairwise", "packets", "direct")
AUTO = packets_then({2: "direct"}, "pairwise")
