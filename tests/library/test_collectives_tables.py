"""benchmarks/collectives.py writes the results that tables are made of: all forms, rivals and the floor are in them."""

import importlib
import json
import re
import sys
from pathlib import Path

import pytest
from launch import launch, mpirun

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "collectives.py"
HEAD = "| size | pennympi | sms=4 | mpi | times faster than the best of the others | floor | floor / time |"


@pytest.fixture
def tables(monkeypatch):
    monkeypatch.syspath_prepend(str(SCRIPT.parent))
    return importlib.import_module("collectives_tables")


def measured(folder, names, sizes="-b 1K -e 4K -f 4"):
    """{name: file} of the results that the script has written for jobs at two PEs."""
    options = ["--only", ",".join(names), "--sizes", sizes, "--against", "mpi", "--launcher", f"{mpirun()} -np {{n}}"]
    env = {"PENNYMPI_BACKEND": "host"}
    ended = launch(1, str(SCRIPT), str(folder), *options, command=[sys.executable], env=env, limit_s=100)
    assert ended.rc == 0, ended.output
    assert not ended.left_alive and not ended.left_in_shm
    return {path.name.rpartition("-2x")[0]: path for path in folder.glob("*.json")}


def test_two_jobs_and_their_tables(tables, tmp_path):
    made = measured(tmp_path, ["allreduce-sms", "broadcast"])
    assert set(made) == {"allreduce-sms", "broadcast"}
    text = tables.markdown(made["allreduce-sms"])
    assert re.sub(r"sms=4 \|.* sms=64", "sms=4", text.splitlines()[2]) == HEAD
    assert re.search(r"^\| 4 KiB \|( \d+\.\d\d \|){9} \d+% \|$", text, re.MULTILINE)
    assert "AllReduce, float32, sum, 2 x " in text and "The floor: a launch " in text
    assert "Broadcast, float32, 2 x " in tables.markdown(made["broadcast"])


def test_what_was_not_measured_is_left_empty(tables, tmp_path):
    """A rival that refuses a size."""
    made = measured(tmp_path, ["allreduce"])["allreduce"]
    data = json.loads(made.read_text())
    data["rows"] = [row for row in data["rows"] if row["implementation"] != "mpi" or row["size_bytes"] > 1024]
    made.write_text(json.dumps(data))
    lines = tables.markdown(made).splitlines()
    assert [len(line.split("|")) for line in lines if line.startswith("| ")] == [8, 8, 8]


def test_an_unknown_job_is_refused():
    ended = launch(1, str(SCRIPT), "folder", "--only", "allreduce,gather", command=[sys.executable], limit_s=30)
    assert ended.rc == 2 and "--only gather: give some of allreduce, " in ended.output
