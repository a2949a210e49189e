"""The kernels of all variants, for ``python -m pennympi precompile 2 --kernels-of apps.jacobi.ahead``."""

from dataclasses import replace
from itertools import product
from typing import Any

from .grid.problem import Problem
from .variants import METHODS, TABLE

SOME = Problem(nx=1024, ny=1024)  # any nx that is a multiple of 8, and any large ny, have the same kernels
DTYPES, NCCHECKS = ("float32", "float64"), (1, 100)


def kernels(team: Any) -> list[Any]:
    """What the variants launch.  team: anything with ``backend``, ``n_pes`` and ``kernel``"""
    made = []
    for row, dtype, nccheck, show in product((*TABLE.values(), *METHODS.values()), DTYPES, NCCHECKS, (True, False)):
        made += row.make.kernels(team, replace(SOME, dtype=dtype, nccheck=nccheck), show)
    return made
