"""The simulator: unchanged kernels in plain Python, under a scheduler that seeks their faults.

A block is a greenlet and every primitive may switch, so one seed is one schedule and a deadlock is seen at once.
tests/README.md lists the files.
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "support"))  # as pytest does, for ``python -m tests.machine``
