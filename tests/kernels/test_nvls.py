"""nvls without multicast, and calls that the switch can't serve: an error with the reason, before anything is sent."""

import numpy as np
import pytest

import pennympi
from pennympi.arrays.dtypes import TABLE as DTYPES
from pennympi.errors import Unsupported
from pennympi.kernels.algorithm import SWITCH_ADDS, Topology
from pennympi.kernels.allreduce import TABLE

REFUSE = TABLE["nvls"].why_not


def test_what_the_switch_can_not_do():
    with_it, without = Topology((0, 0), True, True), Topology((0, 0), True, False)
    for dtype in DTYPES:
        for op in ("sum", "prod", "min", "max", "avg"):
            assert "PENNYMPI_MULTICAST" in REFUSE(without, dtype, op)
            reason = REFUSE(with_it, dtype, op)
            if dtype not in SWITCH_ADDS:
                assert reason == f"the switch adds up float32, float16, bfloat16, and not {dtype}"
            elif op not in SWITCH_ADDS[dtype]:
                assert dtype in reason and f"and not {op}" in reason
            else:
                assert reason is None


@pytest.mark.mpi
def test_it_can_be_switched_off(team, monkeypatch):
    if team.n_pes == 1:
        pytest.skip("one PE has nothing to send")
    x = np.ones(5, np.float32)
    if team.backend == "host" and team.pe_topology.multicast:  # all PEs on one node
        team.allreduce(x, algorithm="nvls")
        assert (x == team.n_pes).all()
    monkeypatch.setenv("PENNYMPI_MULTICAST", "0")
    with pennympi.init(team.comm) as other:
        assert not other.pe_topology.multicast
        with pytest.raises(Unsupported, match="nvls can't run here: no switch under all PEs .*; use algorithm='auto'"):
            other.allreduce(other.zeros(5, "float32"), algorithm="nvls")
        other.allreduce(other.zeros(5, "float32"))
