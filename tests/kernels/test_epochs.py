"""Epochs near 2**31 and 2**32: nothing may count in fewer than 64 bits."""

import numpy as np
import pytest
from collective_cases import ALGORITHMS, CASES, Call, right, runs_here
from on_device import device, same
from reductions import N_PES, some

import pennympi
from pennympi.kernels.exchange import TABLE as FORMS
from pennympi.memory import workspace

pytestmark = pytest.mark.mpi
CALLS = 24  # from 20 before the limit


@pytest.mark.parametrize("first", some([2**31 - 20, 2**32 - 20], 1 if N_PES <= 3 else 2))
def test_calls_of_each(team, monkeypatch, first):
    monkeypatch.setattr(workspace, "FIRST_EPOCH", first)
    with pennympi.init(team.comm) as late:
        partner = -late.me % late.n_pes
        x, out = device(late, np.full(300, late.me, np.int32)), late.empty(300, "int32")
        for form in FORMS:
            for _ in range(CALLS):
                late.exchange(out, x, partner, form)
            assert same(out, np.full(300, partner)), form
        for collective, algorithm in ALGORITHMS:
            case, name = CASES[collective], "int32" if runs_here(late, collective, algorithm, "int32") else "float32"
            call = Call(name, "sum", late.n_pes, late.me, late.n_pes - 1, 20)
            x, out = case.fresh(lambda values: device(late, values), call)
            for _ in range(CALLS if runs_here(late, collective, algorithm, name) else 0):
                case.run(late, call, x, out, algorithm=algorithm)
                assert right(case, call, out, np.zeros(out.size)), (collective, algorithm)
        counts = list(range(3, 3 + late.n_pes))  # each pair of PEs counts its own messages
        x, gathered = device(late, np.full(counts[late.me], late.me)), device(late, np.zeros(sum(counts), np.int64))
        part = device(late, np.zeros(counts[late.me], np.int64))
        for _ in range(CALLS):
            late.all_gatherv(x, gathered, counts)
            late.reduce_scatterv(gathered, part, counts)
            assert same(gathered, np.repeat(range(late.n_pes), counts))
            assert same(part, np.full(counts[late.me], late.me * late.n_pes))
        x, out = device(late, np.full(300, late.me, np.int32)), late.empty(300, "int32")
        plan = late.plan_allreduce(x, out)
        for _ in range(CALLS):
            late.barrier()
            plan()
        assert same(out, np.full(300, sum(range(late.n_pes))))
