"""Row 3: every algorithm of every collective x dtype x op x size, one call each, compared bit for bit.

--times K runs every K-th case only, another share at another seed."""

import itertools

import numpy as np
from collective_cases import CASES, TABLES, Call, right
from counting import Count, options
from on_device import device, same, to_numpy
from reductions import expected, own

import pennympi
from pennympi.arrays.dtypes import TABLE as DTYPES
from pennympi.kernels.allreduce import TABLE

OPS = ("sum", "prod", "min", "max", "avg")
SIZES = (0, 1, 2, 3, 7, 15, 16, 17, 31, 33, 255, 257, 1023, 4097, 65535, 65537, 123567)
given = options(__doc__).parse_args()


def allreduce(team, row, dtype, op, size):
    n, me = team.n_pes, team.me
    x, out = device(team, own(dtype, op, n, me, size)), device(team, np.zeros(size, DTYPES[dtype].numpy))
    team.allreduce(x, out, op, row)
    team.synchronize()
    return same(out, expected(dtype, op, n, size))


def other(team, collective, row, dtype, op, size):
    case, call = CASES[collective], Call(dtype, op, team.n_pes, team.me, size % team.n_pes, size)
    x, out = case.fresh(lambda values: device(team, values), call)
    before = to_numpy(out)
    case.run(team, call, x, out, algorithm=row)
    team.synchronize()
    return right(case, call, out, before)


with pennympi.init() as team:
    count = Count(team.comm)
    kinds = [("allreduce", row, dtype, op, size)
             for row, dtype, op, size in itertools.product(TABLE, DTYPES, OPS, SIZES)]  # fmt: skip
    kinds += [
        (name, row, dtype, op, size)
        for name, case in CASES.items()
        for row, dtype, op, size in itertools.product(TABLES[name], DTYPES, OPS if case.reduces else ("sum",), SIZES)
        if size <= 4097
    ]
    for number, (name, row, dtype, op, size) in enumerate(kinds):
        table = TABLE if name == "allreduce" else TABLES[name]
        if number % given.times != given.seed % given.times or table[row].refuse(team.place, dtype, op):
            continue
        ok = allreduce(team, row, dtype, op, size) if name == "allreduce" else other(team, name, row, dtype, op, size)
        count.right(ok, f"{name} {row} {dtype} {op} {size} elements")
    count.tell()
