"""Bad arguments of the collectives beside AllReduce: one clear error, before anything is sent; the team stays usable."""

import numpy as np
import pytest
from collective_cases import CASES, Call, right
from mpi4py import MPI
from on_device import device, same, to_numpy

from pennympi import Unsupported

pytestmark = pytest.mark.mpi
COUNT = 8


class Refused:
    """Asserts that a call, and its plan, raise."""

    def __init__(self, team, case, call):
        self.calls = getattr(team, case.name), getattr(team, f"plan_{case.name}")
        self.more, self.one_array = case.more(call), case.one_array

    def __call__(self, error, match, x, out=None, **named):
        arrays = (x,) if self.one_array else (x, out)
        for call in self.calls:
            with pytest.raises(error, match=match) as caught:
                call(*arrays, **{**self.more, **named})
            assert "\n" not in str(caught.value)


@pytest.mark.parametrize("collective", CASES)
def test_bad_arguments(team, collective):
    case, n, me = CASES[collective], team.n_pes, team.me
    call = Call("float32", "sum", n, me, 0, COUNT)
    x, out = case.fresh(team.array, call)
    given, before = to_numpy(x), to_numpy(out)
    refused = Refused(team, case, call)
    freed = team.zeros(4 * n * COUNT, "float32")
    if case.name != "reduce" or me == call.root:  # elsewhere, out is not looked at
        bad_out(team, case, refused, x, out, freed)
    strided = freed[::2][: x.size]
    refused(ValueError, "not contiguous: pass", strided, out)
    refused(TypeError, "is not a", "three", out)
    if team.backend == "host":  # CuPy has no other
        refused(Unsupported, "convert the array", np.ones(x.size, np.longdouble), out)
    for name in ("rings", "", None, 3):
        refused(ValueError, f"use auto, {[*case.table][0]}", x, out, algorithm=name)
    if case.reduces:
        for op in ("SUM", "", None, 3, sum, MPI.BAND, MPI.LAND, MPI.MAXLOC):
            refused(ValueError, "use one of sum, prod, min, max, avg", x, out, op=op)
    if case.rooted:
        for root, error in ((n, ValueError), (-1, ValueError), (1.0, TypeError), (None, TypeError), (True, TypeError)):
            refused(error, "root", x, out, root=root)
    if n > 1 and case.name == "all_to_all":
        refused(ValueError, "not divisible by", x[:-1], out[:-1])
    with pytest.raises(TypeError, match="team.stream()"):
        case.run(team, call, x, out, stream=7)
    team.free(freed)
    refused(ValueError, "was freed", freed[: x.size], out)
    assert same(out, before) and same(x, given)
    if case.reduces:  # MPI's names are accepted
        getattr(team, collective)(x, out, **{**case.more(call), "op": MPI.SUM})
    else:
        case.run(team, call, x, out)
    assert right(case, call, out, before)


def bad_out(team, case, refused, x, out, long):
    """What an out may not be."""
    if case.one_array:
        return
    for wrong in (out[:-1], device(team, np.zeros(out.size + 1, np.float32)), out[:0]):
        refused(ValueError, f"x has {x.size} elements of float32 and out.* {wrong.size}", x, wrong)
    refused(ValueError, "float32 and out.* of int32", x, device(team, np.zeros(out.size, np.int32)))
    refused(
        ValueError, "overlap.*for in place|overlap.*pass out=None for in place", long[: x.size], long[1 : 1 + out.size]
    )
    refused(TypeError, "is not a", x, "out")
    refused(ValueError, "not contiguous: pass", x, long[::2][: out.size])
