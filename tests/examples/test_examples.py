"""The programs of examples/: each is right at every rank count, and its docstring says how to run it."""

import re
import runpy
import sys
from importlib.util import find_spec

import pytest
from launch import ROOT, launch
from settled import settled

PROGRAMS = sorted((ROOT / "examples").glob("*.py"))
RIGHT = {  # the line that each program prints at n PEs
    "cuda_graph": "(a graph launched|no graphs on CPUs: the plan called) 1000 times, 0 of {4096 * n} totals wrong",
    "first_allreduce": r"a sum of 1000000 floats by \w+, a maximum in place, 0 elements wrong",
    "mpi4py_heat": r"200 steps of \d+ us, residual \S+, 0 points wrong",
    "overlap": r"\d+ us a step on two streams, \d+ on one.*; largest error \S+",
    "own_kernel": "3 rounds of a kernel of 8 blocks, 0 elements wrong",
    "own_stencil": r"50 sweeps, change \S+, 0 points wrong",
    "process_grid": r"y = A v by rows, \|y\|\^2 by columns, both right",
    "restart": "from step 0 to 30, the state in .* is that of an unbroken run",
    "tensor_parallel": "largest error .* beside float64 on one PE, the same bits on all PEs",
}
NEEDS = {"tensor_parallel": "torch"}  # packages that the tests do not install


def each(programs):
    return pytest.mark.parametrize("program", programs, ids=lambda path: path.stem)


def check(program, n_pes, output):
    """The program prints one line, which names the number of PEs and says that all is right."""
    expected = re.sub(r"{(\d+) \* n}", lambda match: str(int(match[1]) * n_pes), RIGHT[program.stem])
    n = r"\d+ x \d+" if program.stem == "process_grid" else n_pes
    assert re.fullmatch(rf"{n} PEs on \w+: {expected}\n", output), output


@pytest.mark.mpi
@each(PROGRAMS)
def test_right_at_any_number_of_pes(team, program, tmp_path, monkeypatch, capfd):
    """The program runs in this process: on GPUs where the team is on GPUs."""
    if program.stem in NEEDS:
        pytest.importorskip(NEEDS[program.stem])
    folder = team.comm.bcast(tmp_path)
    arguments = [str(folder / "state.h5"), "30"] if program.stem == "restart" else []
    monkeypatch.setattr(sys, "argv", [str(program), *arguments])
    monkeypatch.setenv("PENNYMPI_BACKEND", team.backend)
    runpy.run_path(str(program), run_name="__main__")
    output = capfd.readouterr().out
    if team.me == 0:
        check(program, team.n_pes, output)
    else:
        assert output == ""


@each(PROGRAMS)
def test_a_launch_line_stands_at_the_top(program):
    top = program.read_text().split('"""')[1]
    assert re.search(rf"^\s*mpirun -np \d+ python examples/{program.name}\b", top, re.MULTILINE)


@pytest.mark.skipif(bool(find_spec("torch")), reason="PyTorch is installed")
def test_without_torch_it_says_how_to_get_it():
    ended = launch(2, "examples/tensor_parallel.py", env=settled(2), limit_s=100)
    assert ended.rc == 1 and "Traceback" not in ended.output, ended.output
    assert ended.output.count("pip install torch") == 1, ended.output
