"""The README is short and its example runs; the tables of algorithms and of measurements are what they are made from."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from launch import launch
from mpi4py import MPI
from settled import settled

from pennympi.collectives.allreduce import AllReduce
from pennympi.collectives.calls import ALL
from pennympi.kernels.allreduce import PLANNED

if MPI.COMM_WORLD.Get_size() > 1:
    pytest.skip("these tests start their own jobs: run them without mpirun", allow_module_level=True)

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
ALGORITHMS = (ROOT / "docs" / "algorithms.md").read_text()
MOST_LINES = 150


def table(mark, columns):
    """The rows of the table between the marks."""
    lines = re.search(rf"<!-- {mark} -->\n(.*?)<!-- /{mark} -->", ALGORITHMS, re.DOTALL)[1].splitlines()
    assert re.fullmatch(rf"\|( \w[^|]* \|){{{columns}}}", lines[0]) and set(lines[1]) <= set("|-: ")
    return lines[2:]


def test_the_tables_are_the_registries():
    rows = [f"| {row.name} | {row.sentence} | {row.needs} |" for row in (*AllReduce.table.values(), *PLANNED.values())]
    assert table("algorithms", 3) == rows
    rows = [f"| {c.name} | {row.name} | {row.sentence} | {row.needs} |" for c in ALL for row in c.table.values()]
    assert table("collectives", 4) == rows


def test_who_adds_a_residual():
    names = re.search(r"residual=r\)` adds.*?\((.*?)\)", ALGORITHMS)[1]
    assert names == ", ".join(row.name for row in AllReduce.table.values() if row.residual)


def test_the_readme_is_short_and_begins_with_the_installation():
    lines = README.splitlines()
    assert len(lines) <= MOST_LINES
    assert 'pip install "pennympi[mpich]"' in "\n".join(lines[:8])


def test_the_readme_counts_the_algorithms():
    assert int(re.search(r"`allreduce` \((\d+) algorithms", README)[1]) == len(AllReduce.table) + len(PLANNED)


def test_the_tables_of_measurements_are_the_results():
    ended = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / "tables.py"), "--check"], capture_output=True, text=True, timeout=100
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_the_example_runs(tmp_path):
    example = re.search(r"<!-- example -->\s*```python\n(.*?)```", README, re.DOTALL)[1]
    assert len(example.splitlines()) <= 50
    program = tmp_path / "example.py"
    program.write_text(example)
    ended = launch(3, str(program), env=settled(3), limit_s=200)
    assert ended.rc == 0, ended.output
    assert "3 PEs on" in ended.output and not ended.left_in_shm and not ended.left_alive
