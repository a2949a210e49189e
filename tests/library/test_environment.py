"""python -m pennympi: printed once, and it names all that there is."""

from launch import launch
from settled import settled

from pennympi.collectives.allreduce import AllReduce
from pennympi.collectives.calls import ALL
from pennympi.kernels.exchange import TABLE as FORMS


def check(text, n_pes, backend):
    lines = text.splitlines()
    facts = {line[:20].strip(): line[20:].strip() for line in lines if len(line) > 21 and line[19:21].startswith(" ")}
    assert "mpi4py" in facts["MPI"] and "(MPI " in facts["MPI"]
    assert facts["backend"].startswith(backend)
    assert facts["device"] and facts["links"]
    assert [line.split()[:2] for line in lines if line.startswith("  PE ")] == [["PE", str(pe)] for pe in range(n_pes)]
    assert text.count("PE map") == 1
    sections = {f"{collective.__name__} algorithms": collective.table for collective in (AllReduce, *ALL)}
    for title, names in (sections | {"exchange forms": FORMS}).items():
        found = lines[lines.index(title) + 1 :][: len(names)]
        assert [line.split()[0] for line in found] == list(names) and all(len(line.split()) > 3 for line in found), title


def test_two_ranks():
    ended = launch(2, "-m", "pennympi", env=settled(2), limit_s=200)
    assert ended.rc == 0, ended.output
    check(ended.output, 2, settled(2)["PENNYMPI_BACKEND"])
