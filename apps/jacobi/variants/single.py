"""One PE, whose first blocks copy the edge rows into its own halo, for comparison with the other variants.

Read first: device.py.
"""

from typing import Any

from . import device

sentence = "one PE alone"


class Variant(device.Variant):
    @classmethod
    def why_not(cls, team: Any) -> str:
        return "" if team.n_pes == 1 else f"it is for one PE, and there are {team.n_pes}"
