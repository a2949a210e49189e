"""The two programs of docs/guides/grids.md give the same bits, on any number of ranks, as they stand there."""

import re
from pathlib import Path

import numpy as np
import pytest
from launch import launch
from mpi4py import MPI
from settled import settled

if MPI.COMM_WORLD.Get_size() > 1:
    pytest.skip("these tests start their own jobs: run them without mpirun", allow_module_level=True)

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "guides" / "grids.md").read_text()
BLOCKS = {
    name: re.search(rf"<!-- {name} -->\n```python\n(.*?)```", PAGE, re.DOTALL)[1] for name in ("step", "before", "after")
}
ENDS = {
    "before": """
parts = comm.gather((first, own, u[inside]))
if comm.rank == 0:
    whole = np.empty(SHAPE)
    for low, n, points in parts:
        whole[tuple(slice(one, one + m) for one, m in zip(low, n))] = points
    np.save(PATH, whole)
""",
    "after": """
import numpy
whole = grid.gather(fields[STEPS % 2])
if team.me == 0:
    numpy.save(PATH, whole)
team.finalize()
""",
}


def field(tmp_path, name, n_pes):
    """The field that a program of the page ends with."""
    program, path = tmp_path / f"{name}.py", tmp_path / f"{name}.npy"
    program.write_text(f"PATH = {str(path)!r}\n{BLOCKS['step']}\n\n{BLOCKS[name]}\n{ENDS[name]}")
    path.unlink(missing_ok=True)
    ended = launch(n_pes, str(program), env=settled(n_pes), limit_s=100)
    assert ended.rc == 0 and path.exists(), ended.output
    return np.load(path)


def test_both_programs_give_the_same_bits(tmp_path):
    right = field(tmp_path, "before", 1)
    assert 1 < right.max() < 6 and right.std() > 0.1
    for n_pes in (2, 3, 4):
        for name in ("before", "after"):
            found = field(tmp_path, name, n_pes)
            assert found.tobytes() == right.tobytes(), (name, n_pes)
