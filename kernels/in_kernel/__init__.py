"""What a kernel of an application may call beside the primitives of ``kernels/block.py``: all names of these files."""

from .all_sum import *  # noqa: F403
from .exact import *  # noqa: F403
