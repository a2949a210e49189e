"""Collectives that make their result, if there is no out."""

import numpy as np
import pytest
from on_device import device, same, to_numpy

pytestmark = pytest.mark.mpi


def whole(team, shape):
    """The x of all PEs."""
    return [(np.arange(np.prod(shape)) + 100 * pe).reshape(shape).astype(np.float32) for pe in range(team.n_pes)]


@pytest.mark.parametrize("shape", [(3,), (2, 4), (0, 3), (2, 1, 2), ()])
def test_all_gather(team, shape):
    every = whole(team, shape)
    x = device(team, every[team.me])
    out = team.all_gather(x)
    wanted = np.concatenate([np.atleast_1d(one) for one in every])
    assert type(out) is type(x) and out.shape == wanted.shape and out.dtype == x.dtype and same(out, wanted)


@pytest.mark.parametrize("shape", [(3,), (2, 4), (1, 0)])
def test_reduce_scatter(team, shape):
    rows, n, me = shape[0], team.n_pes, team.me
    every = whole(team, (n * rows, *shape[1:]))
    out = team.reduce_scatter(device(team, every[me]), op="max")
    assert out.shape == shape and same(out, every[-1][me * rows : (me + 1) * rows])


def test_the_result_is_new(team):
    """Two calls have different results, symmetric arrays give plain results, and a stream may be named."""
    x = team.full(4, team.me, "float64")
    first, second = team.all_gather(x, stream=team.stream()), team.all_gather(x)
    team.synchronize()
    assert same(first, to_numpy(second)) and same(first, np.repeat(np.arange(team.n_pes, dtype=float), 4))
    first[...] = -1
    assert (to_numpy(second) >= 0).all() and same(x, np.full(4, team.me, float))
    with pytest.raises(ValueError, match="symmetric"):
        team.peer(first, 0)


def test_parts_that_are_not_equal(team):
    if team.n_pes == 1:
        pytest.skip("any rows are one part")
    x = device(team, np.ones((team.n_pes + 1, team.n_pes), np.float32))
    with pytest.raises(ValueError, match=f"x has {team.n_pes + 1} rows, .*pad it, or give out"):
        team.reduce_scatter(x)
    out = device(team, np.zeros(team.n_pes + 1, np.float32))
    assert same(team.reduce_scatter(x, out), np.full(team.n_pes + 1, team.n_pes))
