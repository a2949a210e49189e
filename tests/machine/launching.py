"""Launches of kernels, and the dtypes of their elements and partials."""

from dataclasses import dataclass, field

import numpy as np

from pennympi.compile.bind import is_tagged
from pennympi.simulator.launches import WORDS, Launch

DTYPES = {
    "int64": WORDS,
    "float32": (np.dtype("float32"), np.dtype("float32")),
    "float16": (np.dtype("float16"), np.dtype("float32")),
    "byte": (np.dtype("uint8"), np.dtype("uint8")),
}  # name: (elements, partials)


@dataclass
class KernelLaunch(Launch):
    """The launch of a kernel; ``ctx``, the PE's number, is the first argument.  known: {name: number} of its call"""

    known: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.tagged = is_tagged(self.kernel)
