"""The solver in a hundred lines: the bits of the reference's field on any number of PEs, by public names alone."""

import re
from pathlib import Path

import numpy as np
import pytest
from launch import launch
from mpi4py import MPI
from on_device import to_numpy

from apps.jacobi import textbook
from apps.jacobi.problem import Problem
from apps.jacobi.verify import reference
from pennympi.arrays.dtypes import TABLE

N_PES = MPI.COMM_WORLD.size
CASES = [  # nx, ny, sweeps, nccheck, dtype
    (3, N_PES + 2, 7, 3, "float32"),  # the smallest grid: a row for each PE, one column that is not fixed
    (17, 2 * N_PES + 3, 30, 10, "float64"),  # rows that do not divide evenly
    (200, 6 * N_PES + 7, 90, 45, "float32"),  # wide enough for denormal numbers
    (1100, 5 * N_PES + 2, 41, 20, "float64"),  # two tiles across
]
mpi = pytest.mark.mpi


def own_rows(team, field):
    """This PE's rows of a whole field (ny, nx), as bytes.  If rows do not divide evenly, the last PEs have one more."""
    rows = [(len(field) - 2 + pe) // team.n_pes for pe in range(team.n_pes)]
    first = 1 + sum(rows[: team.me])
    return field[first : first + rows[team.me]].tobytes()


@mpi
@pytest.mark.parametrize(("nx", "ny", "niter", "nccheck", "dtype"), CASES)
def test_the_field_has_the_references_bits(team, nx, ny, niter, nccheck, dtype):
    own, norms, _ = textbook.solve(team, nx, ny, niter, nccheck, tol=0.0, dtype=dtype)
    expected, expected_norms = reference.solve(Problem(nx, ny, dtype=dtype), niter)
    assert to_numpy(own).tobytes() == own_rows(team, expected)
    checked = sorted({*range(nccheck, niter + 1, nccheck), niter})
    assert [done for done, _ in norms] == checked
    np.testing.assert_allclose([norm for _, norm in norms], [expected_norms[done - 1] for done in checked], rtol=1e-5)


@mpi
def test_it_stops_when_a_norm_is_small_enough(team):
    nx, ny = 33, 8 * team.n_pes + 12
    expected = reference.solve(Problem(nx, ny), 30)[1]
    own, norms, _ = textbook.solve(team, nx, ny, 50, nccheck=5, tol=expected[19] * 1.0001)
    assert [done for done, _ in norms] == [5, 10, 15, 20]
    assert to_numpy(own).tobytes() == own_rows(team, reference.solve(Problem(nx, ny), 20)[0])


@mpi
def test_too_small_a_grid(team):
    for nx, ny in ((2, team.n_pes + 2), (3, team.n_pes + 1)):
        with pytest.raises(AssertionError, match=f"too small for {team.n_pes} PEs"):
            textbook.solve(team, nx, ny, 1)


def test_a_command_of_a_hundred_lines():
    assert len(Path(textbook.__file__).read_text().splitlines()) <= 100
    ended = launch(2, *"-m apps.jacobi.textbook --nx 60 --ny 50 --niter 20".split(), limit_s=120)
    norm = re.search(r"^20 sweeps, norm (\S+), [\d.]+ us a sweep$", ended.output, re.MULTILINE)
    assert norm and float(norm[1]) == pytest.approx(reference.solve(Problem(60, 50), 20)[1][-1], rel=1e-5), ended.output
    assert ended.rc == 0 and not ended.left_alive


def test_the_kernel_on_a_gpu():
    """All loads of a thread's points come before the first store, and no product is fused with an addition."""
    from gpu_code import ptx_of  # skips the test where numba-cuda is not installed

    code = ptx_of(textbook.sweep_tiles, elements=TABLE["float32"])
    accesses = re.findall(r"(ld|st)\.global\.f32", code)
    assert accesses == ["ld"] * 14 + ["st"] * textbook.ROWS
    assert "fma" not in code and ".local" not in code
