"""The table of AllGatherv algorithms: one file each."""

from ..algorithm import table

TABLE = table(__name__, "pairwise")
