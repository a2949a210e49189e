"""The table of all-to-allv algorithms: one file each."""

from ..algorithm import table
from ..by_size import packets_where_safe

TABLE = table(__name__, "pairwise", "packets")
AUTO = packets_where_safe("pairwise")
