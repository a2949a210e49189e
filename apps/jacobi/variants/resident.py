"""All sweeps of a chunk in one launch: the field stays in registers (GPU) or in the cache (CPU).

Read first: ../chunks.py.
"""

from ..chunks import Chunks

sentence = "all sweeps of a chunk in one launch, on the chip, by the library's plans"


class Variant(Chunks):
    """``Chunks`` by this engine."""

    engine = "resident"
