"""All sweeps of a chunk in one launch, with the field in registers (GPU) or in the cache (CPU).

Read first: ../chunks.py.
"""

from ..chunks import Chunks

sentence = "plans of sweeps of the library, all sweeps of a chunk in one launch, on the chip"


class Variant(Chunks):
    engine = "resident"
