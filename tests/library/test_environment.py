"""python -m pennympi prints its report once, with the names of everything that can run."""

import re

from launch import launch
from settled import settled

from pennympi.collectives.allreduce import AllReduce
from pennympi.collectives.calls import ALL
from pennympi.kernels.exchange import TABLE as FORMS

KINDS = {one.__name__: one.table for one in (AllReduce, *ALL)} | {"exchange": FORMS}


def test_the_report():
    ended = launch(2, "-m", "pennympi", env=settled(2), limit_s=200)
    assert ended.rc == 0, ended.output
    entries = re.split(r"\n(?! )", ended.output)
    facts = {entry[:16].strip(): entry[16:] for entry in entries}
    assert "mpi4py" in facts["MPI"] and "(MPI " in facts["MPI"]
    assert facts["backend"].startswith(settled(2)["PENNYMPI_BACKEND"])
    assert facts["device"] and facts["links"] and "PE 0 to 1" in facts
    for kind, names in KINDS.items():
        assert set(re.findall(r"\w+", facts[kind])) >= set(names), kind


def test_all_algorithms():
    ended = launch(2, "-m", "pennympi", "report", "--algorithms", env=settled(2), limit_s=200)
    assert ended.rc == 0, ended.output
    lines = ended.output.splitlines()
    for kind, names in KINDS.items():
        found = lines[lines.index(kind) + 1 :][: len(names)]
        assert [line.split()[0] for line in found] == list(names) and all(len(line.split()) > 3 for line in found), kind
