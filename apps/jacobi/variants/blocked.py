"""T sweeps a pass over memory, with halos T rows deep, and T times fewer messages.

Read first: ../chunks.py.
"""

from ..chunks import Chunks

sentence = "plans of sweeps of the library, several sweeps a pass over memory"


class Variant(Chunks):
    engine = "blocked"
