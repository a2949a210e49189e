"""The engine of ``Grid.plan_sweep`` that the library predicts to be the fastest for the size.

Read first: ../chunks.py.
"""

from ..chunks import Chunks

sentence = "plans of sweeps of the library, by the engine that is predicted to be the fastest"


class Variant(Chunks):
    engine = "auto"
