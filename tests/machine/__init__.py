"""Random programs of the library's algorithms for ``pennympi/simulator/``, and faults that are planted in them."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "support"))  # as pytest does, for ``python -m tests.machine``
