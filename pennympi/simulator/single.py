"""Float32 numbers that widen as in compiled kernels: with a constant they make a float64, where NumPy makes a float32."""

from collections.abc import Callable
from typing import Any

import numpy as np


class Single(np.float32):
    """A float32 in a kernel."""


def widening(name: str) -> Callable[[Any, Any], Any]:
    """An arithmetic method of ``Single``."""

    def run(self: Any, operand: Any) -> Any:
        if type(operand) is float:
            return getattr(np.float64(self), name)(operand)
        result = getattr(np.float32, name)(self, operand)
        return Single(result) if isinstance(result, np.float32) else result

    return run


for _name in ("add", "sub", "mul", "truediv"):
    for _side in ("__", "__r"):
        setattr(Single, f"{_side}{_name}__", widening(f"{_side}{_name}__"))


def number(dtype: np.dtype[Any], x: Any) -> Any:
    """An element of a dtype, as kernels compute with it."""
    return (Single if dtype == np.float32 else dtype.type)(x)
