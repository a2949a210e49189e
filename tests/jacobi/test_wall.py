"""--timings: the table of phases, and that it comes out of the program."""

import os
import re
import time
from types import SimpleNamespace

import pytest
from launch import launch
from mpi4py import MPI

from apps.jacobi.timing.wall import Wall, process_age_s

if MPI.COMM_WORLD.Get_size() > 1:
    pytest.skip("these tests start their own jobs: run them without mpirun", allow_module_level=True)


def test_the_age_of_a_process():
    first = process_age_s()
    time.sleep(0.05)
    assert 0.03 < process_age_s() - first < 5
    begun = os.stat(f"/proc/{os.getpid()}").st_ctime
    assert abs(time.time() - begun - process_age_s()) < 2


def test_phases_and_the_parts_inside_them():
    wall, parts = Wall(), {"kernels: compiled": 1.0}
    wall.library = lambda: dict(parts)
    wall.lap("imports")
    parts["kernels: compiled"] = 3.5
    parts["kernels: loaded"] = 0.001
    time.sleep(0.02)
    wall.lap("start")
    mine = wall.phases
    assert [name for name, _, _ in mine] == ["Python, until the program begins", "imports", "start"]
    assert mine[1][2] == {"kernels: compiled": 1.0} and mine[2][2]["kernels: compiled"] == 2.5 and mine[2][1] >= 0.02
    other = [*mine[:2], ("start", 9.25, {"waiting for other PEs": 4.0})]
    lines = wall.lines(SimpleNamespace(allgather=lambda phases: [phases, other]))
    words = [line.split() for line in lines]
    assert words[0] == ["wall", "time", "PE", "0", "longest", "of", "PE"]
    assert next(line for line in words if line[:1] == ["start"])[-3:] == ["9.25", "s", "1"]
    assert any(line[:2] == ["kernels:", "compiled"] and line[-5:] == ["2.50", "s", "2.50", "s", "0"] for line in words)
    assert any(line[-5:] == ["0.00", "s", "4.00", "s", "1"] for line in words)
    assert not any("loaded" in line for line in lines), "too short for a line of its own"
    assert words[-1][:6] == ["all,", "from", "the", "start", "of", "the"]


def test_the_program_says_where_its_time_went():
    line = "--nx 66 --ny 34 --niter 20 --nccheck 5 --csv --timings"
    ended = launch(2, "-m", "apps.jacobi", *line.split(), limit_s=120)
    assert ended.rc == 0 and not ended.left_alive, ended.output
    shown = re.findall(r"^(\S.*?) +([0-9.]+) s +([0-9.]+) s  [01]$", ended.output, re.MULTILINE)
    names, longest = [name for name, _, _ in shown], [float(s) for _, _, s in shown]
    assert names[-1] == "all, from the start of the process" and len(names) > 8
    for wanted in ("pennympi.init", "the solve on one PE alone", "sweeps", "end of the team"):
        assert wanted in names
    assert sum(longest[:-1]) >= longest[-1] - 0.1, "the phases are all there is"
    assert re.search(r"^  import of the compiler and the \w+ backend +[0-9]", ended.output, re.MULTILINE), ended.output
