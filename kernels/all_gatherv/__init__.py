"""The table of AllGatherv algorithms: one file and one row each."""

from .pairwise import ALGORITHM as pairwise

TABLE = {row.name: row for row in (pairwise,)}
