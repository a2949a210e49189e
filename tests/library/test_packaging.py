"""The installed package: a single version, and console scripts."""

import configparser
import importlib
import re
import sys

import pytest
from launch import ROOT, launch

import pennympi

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
        ended = launch(1, str(script), option, command=[sys.executable])
        assert ended.rc == 0 and ended.output.startswith(begin), ended.output
