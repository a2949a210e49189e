"""Bad arguments of the collectives beside AllReduce: one clear error, before anything is sent; the team stays usable."""

import numpy as np
import pytest
from collective_cases import CASES, Call
from mpi4py import MPI
from on_device import device, same, to_numpy

import pennympi
from pennympi import CollectiveMismatchError, NotInitialized, Unsupported

pytestmark = pytest.mark.mpi
COUNT = 8


class Refused:
    """Asserts that a call, and its plan, raise."""

    def __init__(self, team, collective):
        self.call, self.plan = getattr(team, collective), getattr(team, f"plan_{collective}")

    def __call__(self, error, match, *args, **named):
        for call in (self.call, self.plan):
            with pytest.raises(error, match=match) as caught:
                call(*args, **named)
            assert "\n" not in str(caught.value)


@pytest.mark.parametrize("collective", CASES)
def test_bad_arguments(team, collective):
    case, n, me = CASES[collective], team.n_pes, team.me
    call = Call("float32", "sum", n, me, 0, COUNT)
    rows, more = case.rows(n), case.arguments(call)
    x, out = device(team, case.x(call)), team.full(rows[1] * COUNT, 7)
    before = to_numpy(x)
    refused = Refused(team, collective)
    for wrong in (out[:-1], device(team, np.zeros(out.size + 1, np.float32)), out[:0]):
        refused(ValueError, f"x has {x.size} elements of float32 and out {wrong.size}", x, wrong, **more)
    refused(ValueError, "of the same dtype", x, device(team, np.zeros(out.size, np.int32)), **more)
    long = team.zeros(2 * max(rows) * COUNT + 1)
    refused(ValueError, "overlap.*for in place pass", long[: x.size], long[1 : 1 + out.size], **more)
    refused(ValueError, "not contiguous: pass", long[:: len(long) // x.size][: x.size], out, **more)
    refused(TypeError, "is not a", 3, out, **more)
    refused(TypeError, "is not a", x, "out", **more)
    refused(Unsupported, "convert the array", device(team, np.ones(x.size, np.complex64)), out, **more)
    refused(ValueError, f"use auto, {[*case.table][0]}", x, out, algorithm="rings", **more)
    if case.reduces:
        for op in ("SUM", None, MPI.BAND):
            refused(ValueError, "use one of sum, prod, min, max, avg", x, out, **{**more, "op": op})
    if case.rooted:
        for root, error in ((n, ValueError), (-1, ValueError), (1.0, TypeError), (None, TypeError), (True, TypeError)):
            refused(error, "root", x, out, **{**more, "root": root})
    with pytest.raises(TypeError, match="team.stream()"):
        refused.call(x, out, stream=7, **more)
    team.free(long)
    refused(ValueError, "was freed", long[: x.size], out, **more)
    refused(ValueError, "was freed", x, long[: out.size], **more)
    assert same(out, np.full(out.size, 7)) and same(x, before)
    if case.reduces:  # MPI's names are accepted
        more |= {"op": MPI.SUM}
    refused.call(x, out, **more)
    assert same(out, case.out(call))
    team.free(out)


def test_finalized(team):
    other = pennympi.init()
    other.finalize()
    x = device(team, np.zeros(2 * team.n_pes))
    for collective, case in CASES.items():
        named = case.arguments(Call("float64", "sum", team.n_pes, team.me, 0, 2))
        for name in (collective, f"plan_{collective}"):
            with pytest.raises(NotInitialized, match="init"):
                getattr(other, name)(x, x, **named)


def test_debug_compares(team, monkeypatch):
    """PENNYMPI_DEBUG=1: PEs that disagree on dtype, count, op, algorithm or root are told so."""
    if team.n_pes == 1:
        pytest.skip("one PE can't disagree")
    monkeypatch.setenv("PENNYMPI_DEBUG", "1")
    odd = team.me == team.n_pes - 1
    with pennympi.init() as careful:
        for collective, case in CASES.items():
            for change in ("count", "name", "op", "root"):
                if (change == "op" and not case.reduces) or (change == "root" and not case.rooted):
                    continue
                usual = Call("float32", "sum", team.n_pes, team.me, 0, COUNT)
                other = {"count": COUNT - 1, "name": "int32", "op": "max", "root": 1}[change]
                call = Call(**{**vars(usual), change: other}) if odd else usual
                x, out = (device(team, np.zeros(rows * call.count, call.name)) for rows in case.rows(team.n_pes))
                with pytest.raises(CollectiveMismatchError, match=f"PE 0 .'{collective}', 'float32', .*PE {call.n - 1}"):
                    getattr(careful, collective)(x, out, **case.arguments(call))
