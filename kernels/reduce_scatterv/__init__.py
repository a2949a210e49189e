"""The table of ReduceScatterv algorithms: one file each."""

from ..algorithm import table

TABLE = table(__name__, "pairwise")
