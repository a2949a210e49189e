"""The table of all-to-all algorithms: one file and one row each."""

from ..by_size import packets_then_direct
from .direct import ALGORITHM as direct
from .packets import ALGORITHM as packets
from .pairwise import ALGORITHM as pairwise

TABLE = {row.name: row for row in (pairwise, packets, direct)}
AUTO = packets_then_direct("pairwise")
