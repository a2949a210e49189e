"""The README's table is the registry's, and its example runs."""

import re
from pathlib import Path

import pytest
from launch import launch
from mpi4py import MPI
from settled import settled

from pennympi.kernels.allreduce import PLANNED, TABLE

if MPI.COMM_WORLD.Get_size() > 1:
    pytest.skip("these tests start their own jobs: run them without mpirun", allow_module_level=True)

README = (Path(__file__).resolve().parent.parent / "README.md").read_text()


def test_the_table_is_the_registry():
    table = re.search(r"<!-- algorithms -->\n(.*?)<!-- /algorithms -->", README, re.DOTALL)[1].splitlines()
    assert re.fullmatch(r"\|( \w[^|]* \|){3}", table[0]) and set(table[1]) <= set("|-: ")
    assert table[2:] == [f"| {row.name} | {row.sentence} | {row.needs} |" for row in (*TABLE.values(), *PLANNED.values())]


def test_the_example_runs(tmp_path):
    example = re.search(r"<!-- example -->\s*```python\n(.*?)```", README, re.DOTALL)[1]
    assert len(example.splitlines()) <= 50
    program = tmp_path / "example.py"
    program.write_text(example)
    ended = launch(3, str(program), env=settled(3), limit_s=200)
    assert ended.rc == 0, ended.output
    assert "3 PEs on" in ended.output and not ended.left_in_shm and not ended.left_alive
