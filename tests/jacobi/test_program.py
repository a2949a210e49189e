"""The program: its printed lines, its files, checkpoints and restarts, run by the ranks of this job, and by a user."""

import re

import h5py
import pytest
from mpi4py import MPI

from apps.jacobi import storage

COMM = MPI.COMM_WORLD
SECONDS, RATIO = r"\d+\.\d{4}(e-\d\d)?", r"\d+\.\d\d"  # in NVIDIA's line
mpi = pytest.mark.mpi


def contents(path):
    """(bytes of the field, history as text)."""
    with h5py.File(path) as file:
        return file["field"][:].tobytes(), file.attrs["history"]


@mpi
def test_report_and_result(jacobi, folder):
    line = "--nx 101 --ny 75 --niter 120 --nccheck 7 --verify --output"
    status, printed = jacobi(line, folder / "all.h5")
    assert status == 0, printed
    if COMM.rank:
        assert not printed
        return
    lines, mesh = printed.splitlines(), "on 75 x 101 mesh with norm check every 7 iterations"
    assert re.fullmatch(rf"Single (GPU|PE) jacobi relaxation: (50|120) iterations {mesh}", lines[0])
    assert f"Jacobi relaxation: 120 iterations {mesh}" in lines
    norms = [line for line in lines if re.match(r" *\d+, ", line)]
    assert norms.count("    0, 2.150581") == 2 and norms[-1].startswith("  100, ")
    assert any(re.fullmatch(rf"{COMM.size} PEs? on \d+ (GPU|core)s?\.", line) for line in lines)
    whole = rf"{COMM.size} PEs?, nvshmem_overlap: {SECONDS} s"
    times = rf"75x101: 1 PE, single: {SECONDS} s, {whole}(, speedup: {RATIO}, efficiency: {RATIO} %)?"
    assert any(re.fullmatch(times, line) for line in lines), lines
    if COMM.size > 1 and "efficiency" in printed:
        assert re.match(r"A sweep alone takes \S+ us, .*: \d+ % of the exchange is hidden$", lines[-3])
    assert re.match(r"Stopped after 120 iterations \(--niter is reached\), norm \S+; \S+ us an iteration", lines[-2])
    assert lines[-1].startswith("PASS: 0 points differ from plain loops")
    with h5py.File(folder / "all.h5") as file:
        assert file["field"].shape == (73, 99) and file.attrs["iterations"] == 120


@mpi
@pytest.mark.parametrize("variant", ["nvshmem_overlap", "blocked", "resident"])
def test_few_norms(jacobi, variant):
    """Runs of a loop without any norm."""
    status, printed = jacobi("--nx 40 --ny 60 --niter 650 --nccheck 600 --no-serial --variant", variant)
    assert status == 0 and (COMM.rank or "Stopped after 650 iterations" in printed), printed


@mpi
def test_same_bits_on_any_number_of_pes(jacobi, folder):
    line = "--nx 101 --ny 75 --niter 120 --nccheck 7 --no-serial --csv --backend host --output"
    assert jacobi(line, folder / "all.h5")[0] == 0
    own = folder / f"{COMM.rank}.h5"
    assert jacobi(line, own, comm=MPI.COMM_SELF)[0] == 0
    assert contents(folder / "all.h5") == contents(own)


@mpi
@pytest.mark.parametrize("variant", ["nvshmem_overlap", "mpi_overlap"])
def test_a_picture_of_the_streams(jacobi, folder, variant):
    path, line = folder / f"{variant}.svg", "--nx 60 --ny 70 --niter 9 --no-serial --verify --variant"
    status, printed = jacobi(line, variant, "--timeline", path)
    assert status == 0 and (COMM.rank or "PASS" in printed), printed
    spans = re.findall(r">([\w ]+): \d+\.\d us, from \d+\.\d us on \((push )?stream\)<", path.read_text())
    names = [name for name, _ in spans]
    exchange = ["put_signal to both", "wait_signal from both"] if variant == "nvshmem_overlap" else ["exchange"]
    assert sorted(names) == sorted(["edge rows", "inner rows", *exchange])


@mpi
def test_csv_is_one_line(jacobi):
    status, printed = jacobi("--nx 40 --ny 30 --niter 20 --nccheck 5 --csv --verify")
    assert status == 0 and printed.count("\n") == (COMM.rank == 0), printed
    if COMM.rank == 0:
        fields = printed.strip().split(", ")
        assert fields[:7] == ["pennympi", "40", "30", "20", "5", str(COMM.size), "1"]
        assert len(fields) == 9 and all(float(seconds) > 0 for seconds in fields[7:])


@mpi
def test_picture_and_convergence(jacobi, folder):
    pytest.importorskip("matplotlib")
    line = f"--nx 30 --ny {COMM.size + 30} --dtype float64 --bc periodic --niter 9999 --nccheck 20 --verify analytic"
    status, printed = jacobi(line, "--plot", folder / "a.png")
    assert status == 0, printed
    if COMM.rank == 0:
        assert "(the norm is at most --tol)" in printed and "PASS: every point within" in printed, printed
        assert (folder / "a.png").read_bytes()[:4] == b"\x89PNG"
        assert [file.name for file in folder.iterdir()] == ["a.png"]


@mpi
def test_a_run_continues_from_its_end(jacobi, folder):
    """On these PEs and then on one PE, with the bits and the history of an unbroken run; and options that are refused."""
    path, grid = folder / "run.h5", f"--nx 61 --ny {COMM.size + 67}"
    line, more = "--no-serial --nccheck 3 --checkpoint-every 16 --checkpoint", ["--restart", "--variant", "blocked"]
    assert jacobi(f"{grid} --niter 40 {line}", path, *more)[0] == 0, "the first run has no file to continue from"
    status, printed = jacobi(f"--niter 77 {line}", path, *more, "--verify")
    continued = f"Continuing from iteration 40 of {path}" in printed and "PASS" in printed
    assert status == 0 and (COMM.rank or continued), printed
    own = folder / f"{COMM.rank}.h5"
    status, _ = jacobi(f"--niter 90 --no-serial --backend host --output {own} --restart", path, comm=MPI.COMM_SELF)
    assert status == 0
    assert jacobi(f"{grid} --niter 90 --nccheck 3 --no-serial --output", folder / "whole.h5")[0] == 0
    assert contents(own) == contents(folder / "whole.h5")
    for options, why in (("--nx 62", "holds --nx 61: leave --nx 62 out"), ("--niter 77", "has 77 iterations already")):
        status, printed = jacobi(f"{options} --restart", path)
        assert status == 2 and (COMM.rank or why in printed and printed.count("\n") == 1), printed


@mpi
def test_a_checkpoint_at_every_multiple(jacobi, folder, monkeypatch):
    saved = []
    monkeypatch.setattr(storage, "save", lambda solver, outcome, path: saved.append(outcome.iterations) or "full")
    line = f"--nx 16 --ny {COMM.size + 9} --niter 50 --no-serial --checkpoint-every 13 --checkpoint {folder}/a.h5"
    status, printed = jacobi(line)
    assert status == 0 and saved == [13, 26, 39, 50], "a full disk costs a checkpoint, not the run"
    assert COMM.rank or printed.count(f"error: --checkpoint {folder}/a.h5 could not be written: full\n") == 4
