"""Several sweeps a pass over memory: halos as many rows deep, and as many times fewer messages.

Read first: ../chunks.py.
"""

from ..chunks import Chunks

sentence = "several sweeps a pass over memory, by the library's plans of sweeps"


class Variant(Chunks):
    """``Chunks`` by this engine."""

    engine = "blocked"
