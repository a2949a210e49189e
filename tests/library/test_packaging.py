"""The installed package: a single version, and console scripts."""

import configparser
import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import pennympi

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
def test_a_console_script_says_its_name(tmp_path, name):
    module, _, function = SCRIPTS[name].partition(":")
    assert callable(getattr(importlib.import_module(module), function))
    script = tmp_path / name
    script.write_text(f"import sys\nfrom {module} import {function}\nsys.exit({function}())\n")
    for option, begin in (("--help", f"usage: {name} [-h]"), ("--version", f"pennympi {pennympi.__version__}\n")):
        command, env = [sys.executable, str(script), option], {**os.environ, "PYTHONPATH": str(ROOT)}
        ended = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True, timeout=100)
        assert ended.returncode == 0 and ended.stdout.startswith(begin), ended.stdout + ended.stderr
