"""tools/scorecard.py: the table's machinery, two rows cut short, and a page that is what the results give."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import scorecard
from launch import Ended, launch
from mpi4py import MPI
from reliability.case import Case, Row, tally
from reliability.faults import judged
from reliability.mismatches import _judged
from reliability.page import cell, columns, page
from reliability.stage import Mpi, Stage, left
from reliability.table import ROWS, chosen

if MPI.COMM_WORLD.Get_size() > 1:
    pytest.skip("these tests start their own jobs: run them without mpirun", allow_module_level=True)

ROOT = Path(__file__).resolve().parents[2]
RESULTS = sorted((ROOT / "benchmarks" / "results").glob("reliability*.json"))


def ended(rc, output, after_s=1.0, **more):
    return Ended(rc, output, after_s, 1000.0 + after_s, **more)


def test_the_rows():
    assert list(ROWS) == [str(n) for n in range(1, 38)]
    assert [row.number for row in chosen("3,10-12,3")] == ["3", "10", "11", "12"]
    for text, message in {"99": "there is no row 99", "x": "there is no row x", "1-": "give numbers"}.items():
        with pytest.raises(ValueError, match=message):
            chosen(text)
    for row in ROWS.values():
        assert "|" not in row.tried + row.promise and row.seconds > 0 <= row.gpu_s


def test_what_a_row_comes_to():
    held, failed = Case("a", 5), Case("b", 1, "wrong")
    assert tally([held, held]) == {"held": True, "times": 10, "failed": 0, "cases": {"a": {"times": 10, "failed": 0}}}
    found = tally([held, failed, Case("b", 1, "wrong too"), Case("c", not_run="no such thing")])
    assert (found["held"], found["times"], found["failed"]) == (False, 7, 2)
    assert found["cases"]["b"]["failure"] == "wrong" and found["cases"]["c"]["not_run"] == "no such thing"
    assert not tally([])["held"] and not tally([Case("c", not_run="no such thing")])["held"]
    assert cell(found | {"seconds": 2.0}) == "**not held**: 2 failed of 7 in 2 s; first: b: wrong"
    assert cell(tally([held]) | {"seconds": 2.0}) == "held: 5 in 2 s"


def test_results_of_other_rows_share_a_column():
    facts = {"MPI": "M 1", "devices": "CPUs"}
    one, other, again = ({"facts": facts, "rows": {row: at}} for at, row in enumerate(("1", "33", "1")))
    assert [run["rows"] for run in columns([one, other, again])] == [{"1": 0, "33": 1}, {"1": 2}]
    assert one["rows"] == {"1": 0}


def test_a_row_whose_code_fails_does_not_hold():
    def broken(stage):
        yield Case("a")
        raise KeyError("x")

    found = scorecard.run_row(Row("1", "", "", 1, broken), None)
    assert not found["held"] and "KeyError" in found["cases"]["the scorecard itself"]["failure"]


def test_how_the_end_of_a_job_is_judged():
    says = "pennympi: PE 1 (process 7) was killed by SIGKILL\n"
    assert not judged(ended(9, says), "kill", 1, 1000.0)
    assert "hangs" in judged(ended(None, says), "kill", 1, 1000.0)
    assert "as if nothing" in judged(ended(0, says), "kill", 1, 1000.0)
    assert "took" in judged(ended(9, says, 7.0), "kill", 1, 1000.0)
    assert "does not say" in judged(ended(9, says), "kill", 0, 1000.0)
    assert "2 tracebacks" in judged(ended(9, says + 2 * "Traceback (most recent call last)\n"), "kill", 1, 1000.0)
    assert "left in /dev/shm: x" in judged(ended(9, says, left_in_shm={"x"}), "kill", 1, 1000.0)
    assert "alive" in left(ended(0, "", left_alive=[7]))
    told = "fault 1000.5\nCollectiveMismatchError: PE 0 ..., PE 1 ...\n"
    assert not _judged(ended(1, told), "") and "not told" in _judged(ended(0, "untold\n"), "")
    assert "told after" in _judged(ended(1, told, 60.0), "") and "as a mismatch" in _judged(ended(1, "PeerTimeout"), "")


def test_a_short_run_and_its_continuation(tmp_path, monkeypatch):
    """Two rows, a job each; a second run does only what is left."""
    out = tmp_path / "results.json"
    monkeypatch.setitem(ROWS, "13", Row("13", "one job", "its status", 1, lambda stage: iter([status(stage)])))
    monkeypatch.setitem(ROWS, "14", Row("14", "counts", "right", 1, lambda stage: iter([counted(stage, tmp_path)])))
    assert scorecard.main(["--rows", "13", "--scale", "0.01", "--out", str(out)]) == 0
    assert scorecard.main(["--rows", "13,14", "--scale", "0.01", "--out", str(out), "--continue"]) == 1
    (run,) = json.loads(out.read_text())["runs"]
    assert list(run["rows"]) == ["13", "14"] and run["rows"]["13"]["held"]
    assert run["rows"]["14"]["cases"]["counts, 2 PEs"]["failure"] == "1 of 3 wrong, first: PE 1: two"
    assert run["facts"]["commit"] and "numba" in run["facts"] and run["facts"]["devices"] == "CPUs"
    text = page([json.loads(out.read_text())], ["results.json"])
    assert "| 13 | one job | its status | held: 1 in" in text and "1 of 3 wrong" in text


def status(stage):
    """A job that ends with status 3."""
    found = stage.job(2, "-c", "import sys; sys.exit(3)", limit_s=20)
    return Case("a status", 1, "" if found.rc not in (0, None) else f"status {found.rc}")


def counted(stage, folder):
    """A program that counts, on two ranks, with a wrong result on the second."""
    program = folder / "program.py"
    program.write_text(
        f"import sys; sys.path[:0] = {[str(ROOT / 'tools/reliability/programs')]!r}\n"
        "from mpi4py import MPI\nfrom counting import Count\ncount = Count(MPI.COMM_WORLD)\n"
        "for word in ('one', 'two', 'three'):\n    count.right(word != 'two' or count.comm.rank == 0, word)\n"
        "count.tell()\n"
    )
    return stage.counted("counts", 2, os.path.relpath(program.with_suffix(""), ROOT / "tools/reliability/programs"))


def test_the_command_refuses(tmp_path):
    for line in ("", "--rows 99 --out x.json", "--mpi nothing --out x.json", "--mpi a=/nowhere --out x.json"):
        said = subprocess.run(
            [sys.executable, ROOT / "tools" / "scorecard.py", *line.split()], capture_output=True, text=True, cwd=tmp_path
        )
        assert said.returncode == 2 and "Traceback" not in said.stderr and "error: " in said.stderr, said.stderr
    assert not list(tmp_path.iterdir())


def test_other_launchers_and_pythons():
    mpi = Mpi.in_folder("mpi", "")
    assert re.match(r"(MPICH|Open MPI|MPI) ?\d*", mpi.version)
    stage = Stage(mpi, scale=0.01)
    assert stage.ranks() == [2] and stage.times(2000) == 20 and sorted(stage.some("abc", 300)) == ["a", "b", "c"]
    assert launch(1, "-c", "print(5)", command=[sys.executable]).output == "5\n"


def test_the_page_is_what_the_results_give():
    raw = [f"../benchmarks/results/{path.name}" for path in RESULTS]
    assert (ROOT / "docs" / "reliability.md").read_text() == page([json.loads(p.read_text()) for p in RESULTS], raw)
