"""The table of AllReduce algorithms: one file and one row each."""

from .ring import ALGORITHM as ring
from .simple_ring import ALGORITHM as simple_ring

TABLE = {row.name: row for row in (ring, simple_ring)}
