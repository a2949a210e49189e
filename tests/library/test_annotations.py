"""The library under a type checker: mypy accepts a right program, and finds each of a user's mistakes."""

import re
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

from pennympi import annotations
from pennympi.arrays.operators import MEAN, NAMES
from pennympi.collectives.allreduce import AllReduce
from pennympi.collectives.calls import ALL
from pennympi.kernels.allreduce import PLANNED
from pennympi.kernels.exchange import TABLE as FORMS

ROOT = Path(__file__).resolve().parents[2]
LIMIT_S = 300

GOOD = """
import numpy as np
from mpi4py import MPI

import pennympi
from pennympi import Team
from pennympi.annotations import Op, Plan
from pennympi.kernels.block import Elements, lanes, load, real, store


def scale(ctx: int, y: Elements, x: Elements, n: int, factor: float) -> None:
    for i in lanes(0, n):
        store(y, i, real(factor) * load(x, i))


def total(team: Team, x: np.ndarray, op: Op = "sum") -> float:
    return float(team.allreduce(x, op=op)[0])


with pennympi.init(MPI.COMM_WORLD, backend="host") as team:
    x = team.full(8, team.rank, "float64")
    y = np.zeros(8)
    team.allreduce(x, op="mean", algorithm="ring")
    z = team.allreduce(y, x, op=MPI.SUM)
    team.allreduce([y, MPI.DOUBLE])
    print(team.allreduce(x, residual=y).shape, y.sum())
    z = team.allreduce(MPI.IN_PLACE, y)
    team.all_gather(MPI.IN_PLACE, y)
    team.plan_reduce(MPI.IN_PLACE, y)
    z = team.all_to_all(MPI.IN_PLACE, y)
    counts = [8] * team.size
    team.all_gatherv(y, everyone := np.zeros(8 * team.size), counts, displacements=np.array(counts))
    z = team.all_to_allv(MPI.IN_PLACE, everyone, None, counts)
    team.plan_reduce_scatterv(everyone, y, tuple(counts), op=MPI.SUM)()
    z[:2] = x[2:4] + 1
    everyone = team.all_gather(y)
    part = team.reduce_scatter(everyone, np.zeros(8), op="max")
    print(part.shape, np.linalg.norm(everyone), total(team, part), team.size, x.mean())
    stream = team.stream("high")
    plan: Plan = team.plan_allreduce(x, algorithm="two_shot_direct")
    plan(stream)
    team.exchange(x, y, 0, form="put_signal", stream=stream)
    team.kernel(scale, "float64")(1, x, y, 8, 2.0, stream=stream)
    print(team.broadcast(part, root=0).shape)
    stream.synchronize()
"""

# Each line has a single error, with this code.
BAD = """
import numpy as np

import pennympi

with pennympi.init(backend="gpu") as team:  # arg-type
    x = np.zeros(8)
    team.allreduce(x, op="summ")  # arg-type
    team.allreduce(x, algorithm="rings")  # arg-type
    team.allreduce("x")  # arg-type
    team.all_gather(x, algorithm="two_shot")  # call-overload
    team.stream("urgent")  # arg-type
    team.exchange(x, x, 0, form="put")  # arg-type
    team.plan_allreduce(x)("stream")  # arg-type
    team.plan_reduce(x, op="average")  # arg-type
    team.barrier("stream")  # arg-type
    team.broadcast(x, "0")  # arg-type
    team.all_gatherv(x, x, 8)  # arg-type
    team.reduce_scatterv(x, x, [8.0])  # list-item
    print(team.ranks)  # attr-defined
"""


def test_mypy_takes_a_right_program_and_finds_each_mistake(tmp_path):
    pytest.importorskip("mypy")
    assert (ROOT / "pennympi" / "py.typed").exists()  # without it mypy reads nothing of an installed package
    for name, text in (("good", GOOD), ("bad", BAD)):
        (tmp_path / f"{name}.py").write_text(text)
    options = ["--strict", "--follow-imports=silent", "--config-file=", "--no-color-output", "--hide-error-context"]
    command = [sys.executable, "-m", "mypy", *options, f"--cache-dir={tmp_path / 'cache'}", "good.py", "bad.py"]
    environment = {"PATH": "/usr/bin:/bin", "MYPYPATH": str(ROOT), "HOME": str(tmp_path)}
    ended = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=LIMIT_S)
    found = re.findall(r"^(\w+)\.py:(\d+): error: .*\[([\w-]+)\]$", ended.stdout, re.MULTILINE)
    marked = [("bad", str(i), line.partition("  # ")[2]) for i, line in enumerate(BAD.splitlines(), 1) if "  # " in line]
    assert len(marked) == 14 and found == marked, ended.stdout + ended.stderr


def test_literals_have_all_names():
    """The Literals name the tables' entries, in the order of the tables."""
    assert get_args(annotations.OpName) == (*NAMES, MEAN)
    assert get_args(annotations.ExchangeForm) == tuple(FORMS)
    tables = {"PlannedAllReduce": {**AllReduce.table, **PLANNED}, **{one.__name__: one.table for one in ALL}}
    for name, table in tables.items():
        literal = getattr(annotations, f"{name}Algorithm")
        assert [one for part in get_args(literal) for one in get_args(part) or [part]] == ["auto", *table], name
