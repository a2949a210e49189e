"""Functions that an application's kernel may call, besides the primitives of ``kernels/block.py``."""

from .all_sum import *  # noqa: F403
from .exact import *  # noqa: F403
