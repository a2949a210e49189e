"""The examples and the textbook solver on simulated PEs: no alarm without a fault, and one with a planted line."""

import sys
from pathlib import Path

import pytest

import pennympi
from apps.jacobi import textbook
from pennympi.__main__ import main
from pennympi.simulator.faults import Fault

EXAMPLES = Path(__file__).parents[2] / "examples"
SMALLER = {  # replace sizes for which plain Python would take minutes
    "first_allreduce.py": {"1_000_000": "3000"},
    "own_kernel.py": {"100_000": "400"},
    "cuda_graph.py": {"4096, 1000": "256, 3"},
    "overlap.py": {"8, 200_000, 5": "2, 500, 1"},
    "own_stencil.py": {"160, 192, 50": "16, 32, 3"},
    "restart.py": {},
    "process_grid.py": {},
}
PLANTED = {
    "own_kernel.py": ("        team.barrier()", "        pass"),
    "overlap.py": ("            push.wait_event(compute.record())\n", ""),
    "own_stencil.py": ("    sweep()  #", "    with team.stream():\n        u[...] = 0\n    sweep()  #"),
}


def simulated(tmp_path, monkeypatch, name, planted=None):
    """The exit status of the command, with an example in its smaller size."""
    text = (EXAMPLES / name).read_text()
    for old, new in [*SMALLER[name].items(), *([planted] if planted else [])]:
        assert old in text
        text = text.replace(old, new)
    program = tmp_path / name
    program.write_text(text)
    arguments = [str(tmp_path / "state.h5"), "12"] if name == "restart.py" else []
    monkeypatch.setattr(sys, "argv", sys.argv)
    monkeypatch.setattr(sys, "path", list(sys.path))
    return main(["simulate", "--ranks", "3", "--seconds", "10" if planted else "0.5", str(program), *arguments])


@pytest.mark.parametrize("name", SMALLER)
def test_an_example(tmp_path, monkeypatch, capsys, name):
    assert simulated(tmp_path, monkeypatch, name) == 0
    assert "and no fault" in capsys.readouterr().out


@pytest.mark.parametrize("name", PLANTED)
def test_an_example_with_a_planted_line(tmp_path, monkeypatch, capsys, name):
    assert simulated(tmp_path, monkeypatch, name, PLANTED[name]) == 1
    assert name in capsys.readouterr().err


def solved(team):
    """Six sweeps of a small grid; the values that the simulator compares."""
    mine, norms, _ = textbook.solve(team, nx=11, ny=12, niter=6, nccheck=3)
    return mine.tolist(), norms


def test_the_textbook():
    for k in range(4):
        pennympi.simulate(solved, 3, seed=f"1/{k}")


@pytest.mark.parametrize(
    "old, new",
    [
        ("        stream.wait_event(push.record())\n", ""),
        ("        team.wait_signal(words[0:1], 1, source=up, stream=push)\n", ""),
        ("words[0:1], 1, down, stream=push)", "words[1:2], 1, down, stream=push)"),
        ("            words[:] = 0", "            pass"),
        ("team.put_signal(new[0], new[own]", "team.put_signal(new[1], new[own]"),
    ],
)
def test_the_textbook_with_a_planted_line(old, new):
    text = Path(textbook.__file__).read_text()
    assert text.count(old) == 1
    scope = {"__name__": "planted"}
    exec(compile(text.replace(old, new), "textbook_with_a_fault.py", "exec"), scope)

    def program(team):
        mine, norms, _ = scope["solve"](team, nx=11, ny=12, niter=6, nccheck=3)
        return mine.tolist(), norms

    with pytest.raises(Fault):
        pennympi.simulate(program, 3, 20)
