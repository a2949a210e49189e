"""Chebyshev, restarts, agreement, checks and the profile, on the PEs of this job."""

import math
import signal
from dataclasses import replace
from itertools import product

import h5py
import numpy as np
import pytest
from mpi4py import MPI

import pennympi
from apps.jacobi.cli import dry_run
from apps.jacobi.grid import spectrum
from apps.jacobi.grid.problem import Problem
from apps.jacobi.solver import Solver
from apps.jacobi.storage import checkpoint, restart
from apps.jacobi.storage.files import FieldFile
from apps.jacobi.storage.save import save
from apps.jacobi.storage.seal import row_checksums
from apps.jacobi.timing import profiled
from apps.jacobi.timing.serial import Serial
from apps.jacobi.variants import TABLE
from apps.jacobi.verify import oracles, reference
from apps.jacobi.verify.checks import TABLE as CHECKS
from apps.program.agreement import Agreement
from apps.program.outcome import Outcome

N_PES = MPI.COMM_WORLD.size
KINDS = [("float32", "nvidia"), ("float64", "periodic")]
SHAPES = [(3, N_PES + 2, KINDS[N_PES % 2]), (61, 67, KINDS[0]), (256, N_PES + 29, KINDS[1])]
FEW = pytest.mark.skipif(N_PES > 3, reason="more PEs test nothing new")
USABLE = [name for name in TABLE if name not in ("single", "nccl", "nccl_overlap", "graph")]
VARIANT = USABLE[N_PES % len(USABLE)]
METHOD = spectrum.METHODS[N_PES % 2]  # each number of PEs tests one of them
SOME_CHECKS = [pair for k, pair in enumerate(product(CHECKS, spectrum.METHODS)) if k % 4 == N_PES % 4]

pytestmark = pytest.mark.mpi


@pytest.fixture(scope="module")
def team():
    with pennympi.init() as team:
        yield team


@pytest.fixture
def folder(tmp_path):
    """PE 0's tmp_path, on all PEs."""
    return MPI.COMM_WORLD.bcast(tmp_path)


def assert_same_bits(solver, expected):
    first, rows = solver.slab.first, solver.slab.rows
    assert solver.rows(0, rows).tobytes() == expected[first : first + rows].tobytes()


@pytest.mark.parametrize("nx,ny,kind", SHAPES)
def test_chebyshev_is_numpys(team, nx, ny, kind):
    dtype, bc = kind
    problem = Problem(nx, ny, niter=23, dtype=dtype, tol=-1, bc=bc, nccheck=3, method="chebyshev")
    solver = Solver(team, problem)
    solver.warm_up()
    solver.reset()
    outcome = solver.run()
    expected, norms = reference.solve(problem, 23)
    assert_same_bits(solver, expected)
    np.testing.assert_allclose([norm for _, norm in outcome.history], norms[::3], rtol=1e-7, atol=1e-15)
    alone, _, field = Serial(team, problem).run(23)
    assert alone.history == outcome.history and field.tobytes() == expected.tobytes()
    solver.free()


@FEW
def test_chebyshev_stops_where_it_converges(team):
    problem = Problem(20, N_PES + 22, dtype="float64", bc="periodic", method="chebyshev", tol=1e-9)
    expected, norms = reference.solve(problem, 250)
    at = next(k for k, norm in enumerate(norms) if norm <= 1e-9)
    solver = Solver(team, problem)
    solver.reset()
    outcome = solver.run()
    assert (outcome.reason, outcome.iterations) == ("converged", at + 1)
    assert_same_bits(solver, reference.solve(problem, at + 1)[0])
    first, rows = solver.slab.first, solver.slab.rows
    steady = oracles.steady_state(problem.nx, problem.ny)[first : first + rows]
    assert np.abs(solver.rows(0, rows) - steady).max() < 1e-9 / spectrum.short_bound(problem)
    solver.free()


def test_restart_on_this_number_of_pes(team, folder):
    """From a file that one process wrote, then from one that these PEs wrote: bits and history of one whole solve."""
    problem = Problem(33, N_PES + 31, niter=40, nccheck=3, method=METHOD)
    norms, at_29 = reference.solve(problem, 16)[1], reference.solve(problem, 29)[0]
    path = folder / "a.h5"
    if team.me == 0:
        file = FieldFile(path, problem)
        for name, k in zip(restart.names(problem), (16, 15), strict=False):
            rows = reference.solve(problem, k)[0][1:-1]
            file.write(name, 1, rows)
            file.add_checksums(name, row_checksums(rows))
        file.finish(Outcome(16, history=[(k, norms[k]) for k in range(0, 16, 3)]))
    solver = Solver(team, problem, VARIANT)
    solver.warm_up()
    for begin, end, expected in ((16, 29, at_29), (29, 40, reference.solve(problem, 40)[0])):
        team.comm.Barrier()
        source = restart.Source(team.comm, path)
        assert source.problem == problem and source.outcome.iterations == begin
        restart.resume(solver, source)
        source.close()
        team.comm.Barrier()  # all have read it before it is replaced
        outcome = solver.run(outcome=source.outcome, stop=end)
        assert_same_bits(solver, expected)
        assert [k for k, _ in outcome.history] == list(range(0, end, 3))
        assert save(solver, outcome, path) == ""
    history = restart.Source(team.comm, path).outcome.history
    whole = Serial(team, problem).run(40)[0].history
    assert history[6:] == whole[6:], "as if it had never stopped"
    with h5py.File(path) as file:
        assert (file["field"][:] == expected).all()
    solver.free()


class Spied(checkpoint.Checkpoints):
    """Checkpoints that record their iterations."""

    def _save(self, solver, outcome):
        self.at = [*getattr(self, "at", []), outcome.iterations]
        super()._save(solver, outcome)


@pytest.mark.parametrize("variant", [VARIANT, USABLE[(N_PES + 3) % len(USABLE)]][: 2 if N_PES <= 8 else 1])
def test_checkpoints_where_they_are_due(team, folder, capfd, variant):
    problem = Problem(16, N_PES + 9, niter=50, tol=-1, nccheck=4)
    solver = Solver(team, problem, variant)
    solver.reset()
    outcome = Outcome()
    with Spied(team, problem, folder / "a.h5", every=13) as keeper:
        checkpoint.run(solver, outcome, keeper, False, None)
    assert keeper.at == [13, 26, 39, 50] and keeper.written == 4 and outcome.reason == "iterations"
    assert [k for k, _ in outcome.history] == list(range(0, 50, 4))
    assert_same_bits(solver, reference.solve(problem, 50)[0])
    with checkpoint.Checkpoints(team, problem, folder / "no" / "a.h5") as keeper:
        outcome = Outcome(45)
        checkpoint.run(solver, outcome, keeper, False, None)
    assert outcome.iterations == 50 and keeper.written == 0, "a disk that is full does not end the solve"
    assert capfd.readouterr().err.count("could not be written") == (1 if team.me == 0 else 0)
    solver.free()


def test_signals_to_one_pe_reach_all(team, folder):
    problem = Problem(16, N_PES + 9, niter=1 << 30, tol=-1)
    solver = Solver(team, problem, VARIANT)
    solver.reset()
    outcome, before = Outcome(), signal.getsignal(signal.SIGTERM)

    def on_norm(iteration, norm):
        if iteration == 20 and team.me == N_PES - 1:
            signal.raise_signal(signal.SIGUSR1)
        if iteration == 60 and team.me == N_PES // 2:
            signal.raise_signal(signal.SIGTERM)

    with Spied(team, problem, folder / "a.h5") as keeper:
        checkpoint.run(solver, outcome, keeper, False, on_norm)
    assert signal.getsignal(signal.SIGTERM) is before
    assert outcome.reason == "interrupted" and keeper.at[-1] == outcome.iterations >= 60
    assert len(keeper.at) in (1, 2) and len({*team.gather(tuple(keeper.at))}) == 1
    assert restart.Source(team.comm, folder / "a.h5").outcome.iterations == outcome.iterations
    solver.free()


@FEW
def test_dry_run(team):
    lines = dry_run.lines(team, Problem(4096, 1001, bc="periodic", method="chebyshev"), 5, "nvshmem_overlap")
    assert "PE 0: 199 rows each, global rows 1 to 199" in lines[1]
    assert "PEs 1 to 4: 200 rows each, global rows 200 to 999" in lines[2]
    assert f"Memory a PE: {2 * 206 * 4096 * 4} bytes (6.44 MiB) of fields" in lines[3] and lines[3].endswith(": fits")
    assert len(lines) == 10 and "sweeps by jacobi" in lines[7] and "sweeps by chebyshev" in lines[8]


def test_agreement_is_the_largest(team):
    agree = Agreement(team, 3)
    for round_ in range(5):
        assert agree(team.me == round_ % N_PES, 0, team.me + round_) == [1, 0, N_PES - 1 + round_]
    agree.free()


@pytest.mark.parametrize("name,method", SOME_CHECKS)
def test_checks_pass_and_fail(team, name, method):
    dtype = "float32" if name in ("serial", "analytic") else "float64"
    problem = Problem(40, N_PES + 30, niter=30, nccheck=4, bc="periodic", dtype=dtype, method=method)
    check, solver = CHECKS[name](), Solver(team, problem)
    assert check.refuse(team, problem) == ""
    solver.reset()
    outcome = solver.run()
    good = check.judge(solver, outcome)
    assert good.passed and good.numbers, good.line
    if name == "eigenmode":  # this check runs a solve of its own: make that one wrong
        sweeps = good.numbers["sweeps"]
        wrong = replace(outcome, iterations=sweeps)
        solver.run = lambda **kwargs: (Solver.run(solver, **{**kwargs, "stop": sweeps - 1}), wrong)[1]
    else:
        solver.reset()
        wrong = solver.run(stop=29)
        wrong.iterations = 30
        wrong.history[3] = (12, wrong.history[3][1] * 1.001)
    bad = check.judge(solver, wrong)
    assert not bad.passed, bad.line
    solver.free()


@FEW
def test_analytic_needs_its_boundary(team):
    assert "--bc periodic" in CHECKS["analytic"]().refuse(team, Problem(9, N_PES + 9))


@FEW
def test_profile_of_kernels_that_exchange(team):
    problem = Problem(64, 9 * N_PES + 40, niter=30)
    for us in profiled.profile(team, problem, 1e-3, lambda noting: Solver(noting, problem, "blocked")):
        assert us["compute"] > 0 and us["halo"] == 0 == us["exposed"]


@FEW
def test_profile_notes_every_phase(team):
    problem = Problem(64, N_PES + 40, niter=30, method=METHOD)
    per_pe = profiled.profile(team, problem, 1e-3, lambda noting: Solver(noting, problem))
    assert len(per_pe) == N_PES
    for us in per_pe:
        assert min(us[name] for name in ("compute", "halo", "norm", "total")) > 0
        assert 0 <= us["exposed"] <= us["halo"] * 1.0001
        assert us["exposed"] + us["compute"] + us["norm"] <= us["total"] * 1.0001
        if team.backend == "host":  # a CPU does one thing at a time
            assert us["exposed"] == pytest.approx(us["halo"])
            assert math.isclose(
                sum(us[name] for name in ("compute", "halo", "norm", "nothing")), us["total"], rel_tol=1e-6
            )
