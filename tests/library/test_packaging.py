"""What users install: one version, and console scripts that say how they were started."""

import configparser
import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from mpi4py import MPI

import pennympi

if MPI.COMM_WORLD.Get_size() > 1:
    pytest.skip("nothing here is collective: run it without mpirun", allow_module_level=True)

ROOT = Path(__file__).resolve().parents[2]
CFG = configparser.ConfigParser()
CFG.read(ROOT / "setup.cfg")
SCRIPTS = dict(re.findall(r"(\S+) = (\S+)", CFG["options.entry_points"]["console_scripts"]))
VERSION_IN = {
    "packaging/spack/spack_repo/pennympi/packages/py_pennympi/package.py": 'version("{0}", tag="v{0}")',
    "packaging/conda/recipe.yaml": 'version: "{0}"',
    "packaging/containers/pennympi.def": "image.version {0}\n",
    "CITATION.cff": "\nversion: {0}\n",
    "CHANGELOG.md": "\n## {0}",
}


@pytest.mark.parametrize("path", VERSION_IN)
def test_there_is_one_version(path):
    assert VERSION_IN[path].format(pennympi.__version__) in (ROOT / path).read_text()


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_console_script_says_how_it_was_started(tmp_path, name):
    module, _, function = SCRIPTS[name].partition(":")
    assert callable(getattr(importlib.import_module(module), function))
    script = tmp_path / name
    script.write_text(f"import sys\nfrom {module} import {function}\nsys.exit({function}())\n")
    for start, said in (([str(script)], name), (["-m", module.removesuffix(".__main__")], f"python -m {module[:-9]}")):
        for option, begin in (("--help", f"usage: {said} [-h]"), ("--version", f"pennympi {pennympi.__version__}\n")):
            env = {**os.environ, "PYTHONPATH": str(ROOT)}
            command = [sys.executable, *start, option]
            ended = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True, timeout=100)
            assert ended.returncode == 0 and ended.stdout.startswith(begin), ended.stdout + ended.stderr
