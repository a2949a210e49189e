"""Bad counts and displacements: one clear error, before anything is sent; the team stays usable."""

import numpy as np
import pytest
from mpi4py import MPI
from on_device import device, same, to_numpy
from refused import refused

pytestmark = pytest.mark.mpi
COUNT = 6  # elements of each part


def arrays(team):
    """x and out for parts of COUNT elements, and a part."""
    x, out = (device(team, np.arange(team.n_pes * COUNT, dtype=np.float32) + k) for k in range(2))
    return x, out, device(team, np.zeros(COUNT, np.float32))


def test_bad_counts(team):
    x, out, part = arrays(team)
    n, before = team.n_pes, to_numpy(out)
    right = [COUNT] * n
    for counts, error, match in (
        (right[1:], ValueError, f"counts has {n - 1} numbers: give one for each of the {n} PEs"),
        ([*right[1:], 1.0], TypeError, r"counts\[\d+\] is 1.0, and not an int"),
        ([*right[1:], True], TypeError, "and not an int"),
        ([-1, *right[1:]], ValueError, r"counts\[0\] is -1: give the number of elements, 0 or more"),
        ([1 << 62, *right[1:]], ValueError, "no array has that many"),
        (None, TypeError, "give a sequence of ints, or an int64 array"),
        ("6" * n, TypeError, "give a sequence of ints"),
        (device(team, np.array(right, np.int32)), ValueError, "of int32: give .* of int64"),
        (device(team, np.array([*right, 0])), ValueError, "one for each PE"),
    ):
        refused(error, match, team.all_gatherv, part, out, counts)
        refused(error, match, team.reduce_scatterv, x, part, counts)
        refused(error, match, team.all_to_allv, x, out, right, counts)
        if counts is not None:
            refused(error, match, team.all_to_allv, x, out, counts, right)
    refused(TypeError, "send_counts is None", team.all_to_allv, x, out, None, right)
    assert same(out, before)
    team.all_to_allv(x, out, right, right)
    team.all_gatherv(part, out, right)
    team.reduce_scatterv(x, part, right)
    team.synchronize()


def test_parts_that_do_not_fit(team):
    x, out, part = arrays(team)
    n, me, before = team.n_pes, team.me, to_numpy(out)
    right, starts = [COUNT] * n, [COUNT * pe for pe in range(n)]
    late = [*starts[:-1], starts[-1] + 1]
    refused(ValueError, "give a larger array, or smaller counts", team.all_gatherv, part, out[:-1], right)
    refused(ValueError, "give a larger array", team.all_to_allv, x[:-1], out, right, right)
    refused(ValueError, "give a larger array", team.all_to_allv, x, out, right, right, None, late)
    refused(ValueError, f"x has {COUNT - 1} elements and counts.{me}. is {COUNT}", team.all_gatherv, part[1:], out, right)
    refused(ValueError, "out .*this PE's part", team.reduce_scatterv, x, part[1:], right)
    if n > 1:
        inside = [0, COUNT - 1, *starts[2:]]
        refused(ValueError, "change displacements", team.all_to_allv, x, out, right, right, None, inside)
        refused(ValueError, "change displacements", team.all_gatherv, part, out, right, [1, 0, *starts[2:]])
    others = [COUNT - (pe == me) for pe in range(n)]
    refused(ValueError, "make the two counts for the PE itself equal", team.all_to_allv, x, out, right, others)
    team.all_to_allv(x, out, [0] * n, [0] * n, [10**9] * n, None)  # the displacement of an empty part is not checked
    words = device(team, np.array([0] * n))
    team.all_to_allv(x, out, words, words, device(team, np.array([10**9] * n)), words)
    assert same(out, before)


def test_places_and_dtypes(team):
    x, out, part = arrays(team)
    n, me = team.n_pes, team.me
    right, words = [COUNT] * n, device(team, np.array([COUNT] * n))
    where = [COUNT * pe for pe in range(n)]
    refused(TypeError, "on the device and displacements on the host", team.all_gatherv, part, out, words, where)
    refused(TypeError, "on the host and displacements on the device", team.all_gatherv, part, out, right, words)
    refused(ValueError, "give the same dtype", team.all_to_allv, x, out.view(np.int32), right, right)
    own = out[me * COUNT : (me + 1) * COUNT]
    team.all_gatherv(own, out, right)  # in place
    refused(ValueError, "pass MPI.IN_PLACE", team.all_gatherv, own, out, words)
    refused(ValueError, "pass MPI.IN_PLACE", team.all_to_allv, out, out, right, right)
    refused(ValueError, "pass None as send_counts", team.all_to_allv, MPI.IN_PLACE, out, right, right)
    refused(ValueError, "pass a copy", team.reduce_scatterv, x, x[me * COUNT : (me + 1) * COUNT], words)
    refused(ValueError, "op 'SUM' is not", team.reduce_scatterv, x, part, right, "SUM")
    refused(ValueError, "use auto, pairwise", team.all_gatherv, part, out, right, algorithm="ring")
    if n > 1:
        refused(ValueError, "x and out overlap", team.all_gatherv, out[1 : 1 + COUNT], out, right)  # of no PE
