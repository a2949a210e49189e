"""The table of all-to-allv algorithms: one file each."""

from ..algorithm import table

TABLE = table(__name__, "pairwise")
