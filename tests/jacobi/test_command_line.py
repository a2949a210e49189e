"""The options of ``python -m apps.jacobi``, and bad ones: one line each, status 2 on every rank, and no Traceback."""

import os
import re
import subprocess
import sys

import pytest
from launch import ROOT, launch
from mpi4py import MPI

from apps.jacobi.cli import cli, room
from apps.jacobi.grid.problem import Problem
from apps.program import host_memory
from apps.program.outcome import STATUSES

if MPI.COMM_WORLD.Get_size() > 1:
    pytest.skip("these tests start their own jobs: run them without mpirun", allow_module_level=True)


class OnePE:
    """A communicator with what the command line uses."""

    rank, size = 0, 1

    def bcast(self, x):
        return x

    def allgather(self, x):
        return [x] * self.size

    def Split_type(self, kind):
        return self

    def Free(self):
        pass


class FivePEs(OnePE):
    size = 5


LIMIT_S = 60  # it takes 2 s where nothing else runs
LONG = "x" * 300
BAD = {
    # Numbers
    "--nx 2": "--nx: 2 is not between 3 and 2147483647",
    "--nx -5": "--nx: -5 is not between",
    "--nx 1.5": "--nx: '1.5' is not a whole number",
    "--nx 1e3": "--nx: '1e3' is not a whole number",
    "--nx nan": "--nx: 'nan' is not a whole number",
    "--nx 2147483648": "--nx: 2147483648 is not between",
    "--nx 99999999999999999999": "--nx",
    "--nx": "--nx: expected one argument",
    "--ny 2": "--ny: 2 is not between",
    "--ny 0": "--ny: 0 is not between",
    "--ny inf": "--ny: 'inf' is not a whole number",
    "--niter 0": "--niter: 0 is not between 1",
    "--niter -1": "--niter: -1 is not between 1",
    "--niter 1e9": "--niter",
    "--nccheck 0": "--nccheck: 0 is not between 1",
    "--nccheck -3": "--nccheck",
    "--tol -1": "--tol: -1 is not a number >= 0",
    "--tol nan": "--tol: nan is not a number >= 0",
    "--tol inf": "--tol: inf is not a number >= 0",
    "--tol 1e999": "--tol",
    "--tol small": "--tol: 'small' is not a number",
    "--sweeps 0 --variant blocked": "--sweeps: 0 is not between 1 and 8",
    "--sweeps 9 --variant blocked": "--sweeps: 9 is not between 1 and 8",
    "--checkpoint x.h5 --checkpoint-every 0": "--checkpoint-every",
    "--checkpoint x.h5 --checkpoint-every -n": "--checkpoint-every",
    "--checkpoint x.h5 --checkpoint-seconds soon": "--checkpoint-seconds: 'soon' is not a number",
    "--checkpoint x.h5 --checkpoint-seconds -1": "--checkpoint-seconds: -1 is not a number >= 0",
    "--checkpoint x.h5 --checkpoint-seconds nan": "--checkpoint-seconds",
    "--dry-run 0": "--dry-run: 0 is not between 1",
    "--dry-run 2147483647": "--dry-run",
    # Names
    "--dtype float16": "--dtype: invalid choice: 'float16'",
    "--bc open": "--bc: invalid choice: 'open'",
    "--backend tpu": "--backend: invalid choice: 'tpu'",
    "--variant NVSHMEM": "--variant: invalid choice: 'NVSHMEM'",
    "--method gauss": "--method: invalid choice: 'gauss'",
    "--verify everything": "--verify: invalid choice: 'everything'",
    "--norm-by gloo": "--norm-by: invalid choice: 'gloo'",
    "--fast": "unrecognized arguments: --fast",
    "-n -5": "unrecognized arguments: -n -5",
    "-r 99": "unrecognized arguments: -r 99",
    "--ni 4": "unrecognized arguments: --ni 4",
    "run": "unrecognized arguments: run",
    "--csv=1": "--csv",
    # Sizes
    "--ny 6": "4 inner rows (ny - 2) cannot be shared by 5 PEs: use a larger --ny or fewer PEs",
    "--nx 2147483647 --ny 2147483647": "exact for at most 4398046511104: use a smaller --nx or --ny",
    "--dry-run 40 --ny 41": "39 inner rows (ny - 2) cannot be shared by 40 PEs",
    "--variant blocked --sweeps 8 --ny 38": "--sweeps 8 takes as many rows on each PE, and there are 7: use fewer PEs",
    # What does not go together
    "--method chebyshev --variant nvshmem_overlap": "leave --variant out",
    "--sweeps 2": "--sweeps is for --variant blocked",
    "--method chebyshev --sweeps 2": "--sweeps is for --variant blocked",
    "--norm-by mpi": "--norm-by is for --variant nccl and nccl_overlap",
    "--csv --profile": "leave one of them out",
    "--checkpoint-every 5": "need --checkpoint",
    "--checkpoint-seconds 0": "need --checkpoint",
    "--restart": "takes the one of --checkpoint",
    "--output same.h5 --checkpoint ./same.h5": "--output same.h5 is the name of another file of this run",
    "--output a.h5 --json a.xdmf": "--json a.xdmf is the name of another file of this run",
    "--output a.xdmf": "--output a.xdmf is the name of another file of this run",
    "--output a.h5 --checkpoint a.hdf5": "--output and --checkpoint would both have a.xdmf beside them",
    # Files
    "--output /nowhere/x.h5": "--output /nowhere/x.h5 cannot be written: no such file or directory",
    "--checkpoint /nowhere/x.h5": "--checkpoint /nowhere/x.h5 cannot be written",
    "--json /": "--json / cannot be written: it is a folder",
    "--json /dev/null": "--json /dev/null cannot be written: it is not a regular file",
    "--json /proc/version/x": "--json /proc/version/x cannot be written: not a directory",
    "--plot /proc/x.png": "--plot",
    f"--json {LONG}": "cannot be written: file name too long",
    f"--checkpoint {LONG} --restart": "file name too long",
    f"--restart {LONG}": "file name too long",
    "--restart /nowhere.h5": "--restart /nowhere.h5: there is no such file",
    "--restart /": "--restart /: it is not a regular file",
}


@pytest.mark.parametrize("line", BAD)
def test_bad_arguments_are_one_line(line, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as stop:
        cli.parse(FivePEs(), line.split())
    assert stop.value.code == 2
    error = capsys.readouterr().err
    assert error.startswith("jacobi: error: ") and error.count("\n") == 1 and BAD[line] in error
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("argument", ["--restart", "--json", "--checkpoint"])
def test_an_empty_name_is_no_file(argument, capsys):
    with pytest.raises(SystemExit):
        cli.parse(OnePE(), [argument, ""])
    assert f"jacobi: error: {argument} .{':' if argument == '--restart' else ' cannot be written:'} it is " in (
        capsys.readouterr().err
    )


def test_good_arguments(capsys):
    options, problem = cli.parse(OnePE(), "--nx 64 --ny 32 --dtype float64 --bc periodic --csv --verify".split())
    assert problem == Problem(64, 32, 1000, 1e-8, 1, "float64", "periodic") and options.csv and options.verify == "serial"
    assert (options.variant, options.dry_run, options.restart) == ("nvshmem_overlap", None, None)
    options, _ = cli.parse(OnePE(), "--checkpoint not_there.h5 --restart --dry-run --verify residual".split())
    assert (options.dry_run, options.restart, options.saved, options.verify) == (0, None, None, "residual")
    with pytest.raises(SystemExit) as stop:
        cli.parse(OnePE(), ["--help"])
    text = capsys.readouterr().out
    assert stop.value.code == 0 and "--nccheck" in text
    assert all(f"{status}  {meaning}" in text for status, meaning in STATUSES.items())


GIB = 1 << 30


@pytest.mark.parametrize(
    ("line", "free_bytes", "said"),
    [
        ("--nx 65536 --ny 65536", 30 * GIB, "5 PEs take 33"),
        ("--nx 16384 --ny 16384", 2 * GIB, "5 PEs take 3"),
        ("--nx 16384 --ny 16384", 5 * GIB, ""),
        ("--nx 16384 --ny 16384 --variant persistent", int(3.9 * GIB), "5 PEs take 4"),
        ("--nx 16384 --ny 16384 --niter 10 --verify", 5 * GIB, "--verify serial take 9.00 GiB"),
        ("--nx 16384 --ny 16384 --niter 10 --verify residual", 5 * GIB, ""),
        ("--nx 3 --ny 2147483647", 5 * GIB, "5 PEs take 9"),
        ("", GIB, ""),
    ],
)
def test_sizes_against_memory(monkeypatch, line, free_bytes, said):
    monkeypatch.setattr(room, "host_free_bytes", lambda: free_bytes)
    options, problem = cli.parse(FivePEs(), ["--backend", "host", *line.split()])
    reason = room.shortage(FivePEs(), options, problem)
    assert bool(reason) == bool(said), reason
    if said:
        assert said in reason and "are free there: use a smaller --nx or --ny" in reason and "\n" not in reason


def test_limits_of_containers_and_jobs(tmp_path, monkeypatch):
    own = tmp_path / "memory" / "job" / "step"
    own.mkdir(parents=True)
    monkeypatch.setattr(host_memory, "_cgroups", lambda: [own, own.parent, tmp_path / "memory", tmp_path])
    before = host_memory.host_free_bytes()
    assert 0 < before < 1 << 62
    (own / "memory.max").write_text("max\n")
    (own / "memory.current").write_text("70000\n")
    (own.parent / "memory.limit_in_bytes").write_text("90000\n")
    (own.parent / "memory.usage_in_bytes").write_text("80000\n")
    (own.parent / "memory.stat").write_text("cache 9\ninactive_file 5000\n")
    assert host_memory.host_free_bytes() == 15_000


def test_memory_is_not_counted_twice_on_gpus(monkeypatch):
    monkeypatch.setattr(room, "host_free_bytes", lambda: GIB)
    options, problem = cli.parse(FivePEs(), "--backend cuda --nx 65536 --ny 65536".split())
    assert room.shortage(FivePEs(), options, problem) == ""


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--nx two", "argument --nx: 'two' is not a whole number"),
        ("--nx 8000000 --ny 8000000", "'s node is too small: 4 PEs take "),
        ("--variant single", "--variant single cannot run here: it is for one PE, and there are 4"),
    ],
)
def test_bad_arguments_end_every_rank(line, message):
    ended = launch(4, "-m", "apps.jacobi", "--backend", "host", *line.split(), limit_s=LIMIT_S)
    assert ended.rc == 2 and not ended.left_alive, ended.output
    said = without_compiling(ended.output)
    assert said.startswith("jacobi: error: ") and message in said and said.count("\n") == 1, said


def without_compiling(text):
    """The text without the lines that a first run prints while it compiles."""
    return re.sub(r"^compiling kernel .*\n", "", text, flags=re.MULTILINE)


@pytest.mark.parametrize("line", ["--csv", "", "--dry-run"])
def test_what_cannot_be_printed(line, tmp_path):
    """stdout on a full disk: the run goes on to its end and its files, and then says so."""
    found = tmp_path / "a.json"
    program = [sys.executable, "-m", "apps.jacobi", *f"--nx 30 --ny 30 --niter 20 --json {found} {line}".split()]
    with open("/dev/full", "w") as full:
        ended = subprocess.run(
            program, stdout=full, stderr=subprocess.PIPE, text=True, timeout=100, cwd=ROOT, env=dict(os.environ)
        )
    wanted = "jacobi: error: what it prints could not be written (no space left on device)\n"
    assert ended.returncode == 1 and without_compiling(ended.stderr) == wanted
    assert found.exists() == (line != "--dry-run")
