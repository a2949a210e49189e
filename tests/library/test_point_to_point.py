"""Messages of arrays on GPUs by ``pennympi.Comm``: with CuPy where there is a GPU, else with what stands in for it."""

import re
from pathlib import Path

import pytest
from launch import PROGRAMS, launch

STAND_IN = {"PYTHONPATH": str(Path(__file__).parents[1] / "support" / "stand_in"), "PENNYMPI_BACKEND": "host"}


@pytest.mark.parametrize("n_pes", [1, 2, 3])
def test_each_way_of_mpi4py(n_pes):
    end = launch(n_pes, str(PROGRAMS / "gpu_messages.py"), limit_s=60, env=STAND_IN)
    assert end.rc == 0, end.output
    envelopes = [int(number) for number in re.findall(r"right, (\d+) envelopes", end.output)]
    assert len(envelopes) == n_pes and min(envelopes) > 100, end.output
