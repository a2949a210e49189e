"""The engine of ``Grid.plan_sweep`` that is predicted to be the fastest for the size.

Read first: ../chunks.py.
"""

from ..chunks import Chunks

sentence = "the library's plans of sweeps, by the engine that is the fastest for the size"


class Variant(Chunks):
    """``Chunks`` by this engine."""

    engine = "auto"
