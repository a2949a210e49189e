"""Bad arguments of the collectives except AllReduce: one clear error, before anything is sent; the team stays usable."""

import numpy as np
import pytest
from collective_cases import CASES, Call, is_right
from mpi4py import MPI
from on_device import device, same, to_numpy
from refused import refused

from pennympi import Unsupported

pytestmark = pytest.mark.mpi
COUNT = 8


@pytest.mark.parametrize("collective", CASES)
def test_bad_arguments(team, collective):
    case, n, me = CASES[collective], team.n_pes, team.me
    call = Call("float32", "sum", n, me, 0, COUNT)
    x, out = case.fresh(team.array, call)
    given, before = to_numpy(x), to_numpy(out)

    def bad(error, match, *arrays, **named):
        refused(error, match, getattr(team, collective), *arrays[: 2 - case.one_array], **{**case.options(call), **named})

    freed = team.zeros(4 * n * COUNT, "float32")
    if case.name != "reduce" or me == call.root:  # other PEs do not read out
        bad_out(team, case, bad, x, out, freed)
    strided = freed[::2][: x.size]
    bad(ValueError, "not contiguous: pass", strided, out)
    bad(TypeError, "is not a", "three", out)
    if team.backend == "host":  # CuPy has no other byte order
        bad(Unsupported, "convert the array", np.ones(x.size, np.longdouble), out)
    for name in ("rings", "", None, 3):
        bad(ValueError, f"use auto, {[*case.table][0]}", x, out, algorithm=name)
    if case.reduces:
        for op in ("SUM", "", None, 3, sum, MPI.BAND, MPI.LAND, MPI.MAXLOC):
            bad(ValueError, "use one of sum, prod, min, max, avg", x, out, op=op)
    if case.rooted:
        for root, error in ((n, ValueError), (-1, ValueError), (1.0, TypeError), (None, TypeError), (True, TypeError)):
            bad(error, "root", x, out, root=root)
    if n > 1 and case.name == "all_to_all":
        bad(ValueError, "not divisible by", x[:-1], out[:-1])
    with pytest.raises(TypeError, match="team.stream()"):
        case.run(team, call, x, out, stream=7)
    team.free(freed)
    bad(ValueError, "was freed", freed[: x.size], out)
    assert same(out, before) and same(x, given)
    if case.reduces:  # MPI's names are accepted
        getattr(team, collective)(x, out, **{**case.options(call), "op": MPI.SUM})
    else:
        case.run(team, call, x, out)
    assert is_right(case, call, out, before)


def bad_out(team, case, bad, x, out, long):
    if case.one_array:
        return
    for wrong in (out[:-1], device(team, np.zeros(out.size + 1, np.float32)), out[:0]):
        bad(ValueError, f"x has {x.size} elements of float32 and out.* {wrong.size}", x, wrong)
    bad(ValueError, "float32 and out.* of int32", x, device(team, np.zeros(out.size, np.int32)))
    bad(ValueError, "overlap.*for in place|overlap.*pass out=None for in place", long[: x.size], long[1 : 1 + out.size])
    bad(TypeError, "is not a", x, "out")
    bad(ValueError, "not contiguous: pass", x, long[::2][: out.size])
