"""Every shell block of README.md and docs/tutorial.md runs as it stands, in order: in a fresh copy of the checkout, and
from a wheel in an empty folder.

A block under `<!-- not run: reason -->` is not run, and one under `<!-- in a checkout -->` only in the copy.
Nothing comes from a network. `pip install` is the real one: it takes pennympi from a wheel that is built here, and finds
all other packages there already, since the environments of this test have links to those of this one.
"""

import os
import re
import shutil
import sys
import venv
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest
from launch import launch
from mpi4py import MPI
from settled import backend

if MPI.COMM_WORLD.Get_size() > 1:
    pytest.skip("these tests start their own jobs: run them without mpirun", allow_module_level=True)

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = ("README.md", "docs/tutorial.md")
BLOCKS = {"README.md": (3, 1), "docs/tutorial.md": (5, 4)}  # that are run in a checkout, and from a wheel, at least
FENCE = re.compile(r"(?ms)^(?:<!-- (?P<mark>[^\n]+) -->\n+)?```(?P<language>\w*)\n(?P<text>.*?)^```$")
SHELL, OTHERS = {"sh", "shell", "bash"}, {"python", "toml", "text", "mermaid"}
CHECKOUT, NOT_RUN = "in a checkout", "not run: "
OF_PIP = {  # no network, and no environment of its own for a build: what that takes is here
    "PIP_NO_INDEX": "1",
    "PIP_NO_BUILD_ISOLATION": "0",  # pip's words for "without isolation"
    "PIP_CONFIG_FILE": os.devnull,
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
}
LIMIT_S = 230  # below pytest's own, which says less


def blocks(name, in_checkout):
    """The shell blocks of a document that are run there."""
    for found in FENCE.finditer((ROOT / name).read_text()):
        mark = found["mark"] or ""
        if found["language"] in SHELL and not mark.startswith(NOT_RUN) and (in_checkout or mark != CHECKOUT):
            yield found["text"]


def script(name, in_checkout):
    """The blocks of a document as one script, which ends at the first command that fails."""
    lines = ["set -e"]
    for number, text in enumerate(blocks(name, in_checkout), 1):
        lines += [f"echo '--- block {number}'", text]
    return "\n".join([*lines, "echo '--- all done'"])


def fresh_copy(folder):
    """The checkout without what git ignores, as a clone has it; pennympi/kernels and pennympi/apps stay links."""
    lines = (ROOT / ".gitignore").read_text().splitlines()
    ignored = [line.strip("/") for line in lines if line and not line.startswith("#")]
    return shutil.copytree(ROOT, folder, symlinks=True, ignore=shutil.ignore_patterns(".git", *ignored))


def environment(folder):
    """A virtual environment with links to the packages and the MPI of this one, but no pennympi.  Returns its bin."""
    venv.create(folder, symlinks=True)
    packages, scripts = folder / "packages", folder / "bin"
    packages.mkdir()
    for place in map(Path, sys.path):
        if any(place.glob("*.dist-info")):  # a folder of installed packages
            link(place, packages, ("pennympi", "__editable__"))
    (next(folder.glob("lib/python3*/site-packages")) / "packages.pth").write_text(f"{packages}\n")
    if not list(packages.glob("mpich-*")):  # there is another MPI here, which stands in for it
        (packages / "mpich-99.dist-info").mkdir()
        (packages / "mpich-99.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: mpich\nVersion: 99\n")
    link(Path(sys.prefix) / "bin", scripts, ("python", "pip", "pennympi", "activate", "Activate"))
    link(Path(sys.prefix) / "lib", folder / "lib", ("python", "pkgconfig"))
    (scripts / "pip").write_text(f'#!/bin/sh\nexec "{scripts}/python" -m pip "$@"\n')
    (scripts / "pip").chmod(0o755)
    return scripts


def link(place, folder, but):
    """Link everything in a place that the folder does not have, but for names that begin so."""
    for one in Path(place).iterdir():
        if not one.name.startswith(but) and not (folder / one.name).exists():
            (folder / one.name).symlink_to(one)


def variables(scripts, wheels):
    """The environment of a user who has activated the environment with these scripts."""
    path = os.pathsep.join([str(scripts), os.environ["PATH"]])
    return {**OF_PIP, "PATH": path, "PIP_FIND_LINKS": str(wheels), "PYTHONPATH": "", "PENNYMPI_BACKEND": backend(4)}


def run(folder, text, env):
    """Run a script in a folder, and assert that it came to its end."""
    path = folder.with_suffix(".sh")
    path.write_text(f"cd '{folder}'\n{text}\n")
    ended = launch(0, str(path), command=["bash"], env=env, limit_s=LIMIT_S)
    assert ended.rc == 0 and not ended.left_alive, f"status {ended.rc}:\n{ended.output}"
    assert "does not provide the extra" not in ended.output, ended.output
    return ended.output


@pytest.fixture(scope="module")
def wheels(tmp_path_factory):
    """A folder with a wheel of the checkout."""
    needed = int(re.search(r'"setuptools>=(\d+)', (ROOT / "pyproject.toml").read_text())[1])
    try:
        found = int(version("setuptools").split(".")[0])
    except PackageNotFoundError:
        found = 0
    if found < needed:
        pytest.skip(f"a wheel is built without a network only where setuptools>={needed} is installed (extra test)")
    folder = tmp_path_factory.mktemp("wheel")
    copy, scripts = fresh_copy(folder / "checkout"), environment(folder / "environment")
    command = f"python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir '{folder}/wheels' ."
    run(copy, command, variables(scripts, folder))
    return folder / "wheels"


def test_every_fence_says_what_it_is():
    for name in DOCUMENTS:
        found = list(FENCE.finditer((ROOT / name).read_text()))
        assert len(found) == (ROOT / name).read_text().count("\n```") / 2 and len(found) > 3
        for fence in found:
            assert fence["language"] in SHELL | OTHERS, f"{name}: a block without a language:\n{fence['text']}"
            if fence["language"] in SHELL and (mark := fence["mark"]):
                assert mark == CHECKOUT or re.fullmatch(rf"{NOT_RUN}\w.+", mark), mark
        assert all(len([*blocks(name, where)]) >= least for where, least in zip((True, False), BLOCKS[name], strict=True))


@pytest.mark.parametrize("name", DOCUMENTS)
def test_from_a_clone(tmp_path, wheels, name):
    """`make` finds a .venv in which all packages are there but pennympi, and installs that."""
    pytest.importorskip("matplotlib")
    copy, scripts = fresh_copy(tmp_path / "clone"), environment(tmp_path / "environment")
    environment(copy / ".venv")
    output = run(copy, script(name, True), variables(scripts, wheels))
    assert output.endswith("--- all done\n")
    if "make demo\n" in script(name, True):
        assert {one.name for one in (copy / "demo").iterdir()} == {"jacobi.png", "jacobi.h5", "jacobi.xdmf"}
        for said in ("(the norm is at most --tol)", "Written: demo/jacobi.png", "PASS: every point", "then type:"):
            assert output.count(said) == 1, output


@pytest.mark.parametrize("name", DOCUMENTS)
def test_from_a_wheel(tmp_path, wheels, name):
    folder, scripts = tmp_path / "empty", environment(tmp_path / "environment")
    folder.mkdir()
    begin = "" if name == "README.md" else "pip install --quiet 'pennympi[mpich]'\n"
    output = run(folder, begin + script(name, False), variables(scripts, wheels))
    assert output.endswith("--- all done\n")
