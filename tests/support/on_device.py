"""Values in NumPy and on the device of a team, compared bit by bit, since CuPy has no arithmetic for some dtypes."""

from typing import NamedTuple

import numpy as np
import pytest

from pennympi.errors import Unsupported
from pennympi.kernels.allreduce import PLANNED, TABLE
from pennympi.kernels.block import Elements


class Row(NamedTuple):
    """n elements at an address."""

    address: Elements
    n: int


def to_numpy(x):
    """A NumPy copy of an array, of the team or any other."""
    if isinstance(x, np.ndarray):
        return x.copy()
    return x.view(_bits(x)).get().view(x.dtype)


def device(team, values):
    """A plain array, not symmetric, with these values, on the team's device."""
    values = np.array(values)
    return values if team.backend == "host" else _on_gpu(values)


def _on_gpu(values):
    import cupy

    return cupy.array(values.view(_bits(values))).view(values.dtype)


def write(x, values):
    """x[...] = values, of the same shape and dtype, in the order of the current stream."""
    values = np.ascontiguousarray(values, x.dtype)
    if isinstance(x, np.ndarray):
        x[...] = values
    elif not x.flags.c_contiguous:
        x.view(_bits(x))[...] = _on_gpu(values).view(_bits(x))
    elif x.size:
        x.view(_bits(x)).set(values.view(_bits(values)))


def same(x, values):
    """Whether x holds exactly these bits."""
    return to_numpy(x).tobytes() == np.ascontiguousarray(values, x.dtype).tobytes()


def _bits(x):
    return f"uint{8 * x.dtype.itemsize}" if x.dtype.itemsize <= 8 else x.dtype  # no int is as large as complex128


def skip_if_refused(team, algorithm, name="float32", op="sum"):
    """Skip a test of an algorithm that can't run on this team."""
    reason = (TABLE | PLANNED)[algorithm].why_not(team.pe_topology, name, op)
    if reason:
        pytest.skip(reason)


def address(x):
    """Address of the first element of an array."""
    return x.ctypes.data if isinstance(x, np.ndarray) else x.data.ptr


def reaches(team, x, pe):
    """Whether a pointer of this PE reaches PE ``pe``; if not, the error of peer() must say what to use instead."""
    try:
        team.peer(x, pe)
    except Unsupported as error:
        assert "use team.get or team.put" in str(error)
        return False
    return True
