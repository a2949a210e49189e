"""Buffers in mpi4py's form, in place of arrays."""

import numpy as np
import pytest
from mpi4py import MPI
from on_device import device, same
from refused import refused

pytestmark = pytest.mark.mpi


def test_calls(team):
    n = team.n_pes
    x, out = device(team, np.arange(6.0)), device(team, np.zeros(6))
    team.allreduce([x, MPI.DOUBLE], (out, MPI.DOUBLE))
    assert same(out, n * np.arange(6.0))
    team.allreduce((x, 2, MPI.DOUBLE), op=MPI.MAX)
    team.allreduce([x, np.int64(2), MPI.DOUBLE])
    assert same(x, np.array([0, n, 2, 3, 4, 5.0]))  # only the first two elements
    plan = team.plan_allreduce([out, 1, MPI.DOUBLE])
    plan()
    assert same(team.all_gather([x, 3, MPI.DOUBLE]), np.tile([0, n, 2.0], n))
    there = team.zeros(6, "float64")
    team.put([there, MPI.DOUBLE], [x, MPI.DOUBLE], team.me)
    team.synchronize()
    assert same(there, x if team.backend == "host" else x.get())
    assert team.peer([there, MPI.DOUBLE], team.me).shape == (6,)


@pytest.mark.parametrize(
    ("dtype", "datatype"),
    [
        ("float32", MPI.FLOAT),
        ("int8", MPI.INT8_T),
        ("int32", MPI.INT),
        ("int64", MPI.LONG),
        ("uint64", MPI.UINT64_T),
        ("complex128", MPI.C_DOUBLE_COMPLEX),
        ("bool", MPI.C_BOOL),
    ],
)
def test_datatypes(team, dtype, datatype):
    x = device(team, np.full(3, team.me, dtype))
    assert same(team.broadcast([x, datatype])[0], np.zeros(3, dtype))
    wrong = MPI.DOUBLE if datatype != MPI.DOUBLE else MPI.FLOAT
    refused(ValueError, f"elements of {dtype}, which are not MPI_", team.broadcast, [x, wrong])


def test_wrong_buffers(team):
    x = device(team, np.ones(4))
    for error, match, buffer in (
        (ValueError, "count 5 is outside the array of 4", [x, 5, MPI.DOUBLE]),
        (ValueError, "count -1 is outside", (x, -1, MPI.DOUBLE)),
        (TypeError, "give a slice of the array", [x, (2, 1), MPI.DOUBLE]),
        (ValueError, "give the array alone", [x, MPI.DATATYPE_NULL]),
        (TypeError, "a list is not an array: give an array, ", [x]),
        (TypeError, "a tuple is not an array: give an array, ", (x, x)),
        (TypeError, "a list is not an array: give an array, ", [x, "d"]),
        (TypeError, "str is not a", ["x", MPI.CHAR]),
    ):
        for call in (team.allreduce, team.broadcast):
            refused(error, match, call, buffer)
    assert same(x, np.ones(4))
