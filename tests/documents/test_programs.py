"""The programs and shell blocks of README.md, the tutorial and the pages on grids and loops run as they stand there.

A block under `<!-- skip: next "reason" -->` is not run. `make docs` checks the links of all pages.
"""

import os
import shutil
import sys
import zipfile
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from unittest import SkipTest

import pytest
from launch import launch
from settled import backend, settled

ROOT = Path(__file__).resolve().parents[2]
LIMIT_S = 230  # below pytest's own, which says less
SAME_BITS = """
before = comm.allgather((first, own, u[inside]))
{after}
whole = grid.gather(fields[STEPS % 2])
if team.me == 0:
    for low, n, points in before:
        part = whole[tuple(slice(one, one + m) for one, m in zip(low, n))]
        assert part.tobytes() == points.tobytes() and points.std() > 0.1
    print("the same bits")
team.finalize()
"""


def blocks(page, language):
    """The blocks of a page in one language that are not skipped."""
    sybil = pytest.importorskip("sybil")
    markdown = pytest.importorskip("sybil.parsers.markdown")
    found = {"sh": [], "python": []}
    parsers = [
        markdown.CodeBlockParser(name, lambda example, to=to: to.append(example.parsed)) for name, to in found.items()
    ]
    for example in sybil.Sybil([*parsers, markdown.SkipParser()]).parse(ROOT / page).examples():
        with suppress(SkipTest):
            example.evaluate()
    return found[language]


def run(program, text):
    """Write a program, run it at 3 ranks, and return what it prints."""
    program.write_text(text)
    ended = launch(3, str(program), env=settled(3), limit_s=LIMIT_S)
    assert ended.rc == 0 and not ended.left_in_shm and not ended.left_alive, ended.output
    return ended.output


@pytest.mark.parametrize(
    ("page", "least"), [pytest.param("README.md", 1, marks=pytest.mark.slow), ("docs/tutorial.md", 4)]
)
def test_shell_blocks(tmp_path, page, least):
    scripts = blocks(page, "sh")
    assert len(scripts) >= least
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    env = {"PATH": path, "PENNYMPI_BACKEND": backend(4)}
    script = "\n".join([f"set -e; cd '{tmp_path}'", *scripts])
    ended = launch(0, "-c", script, command=["bash"], env=env, limit_s=LIMIT_S)
    assert ended.rc == 0 and not ended.left_alive, ended.output


def test_the_readmes_program(tmp_path):
    (program,) = blocks("README.md", "python")
    assert "3 PEs on" in run(tmp_path / "example.py", program)


def test_both_programs_of_the_page_on_grids_give_the_same_bits(tmp_path):
    _, step, before, after = blocks("docs/guides/grids.md", "python")
    text = "\n".join([step, before, SAME_BITS.format(after=after)])
    assert run(tmp_path / "both.py", text).endswith("the same bits\n")


@pytest.mark.slow
def test_the_program_of_the_page_on_loops_ends_as_the_host_s_loop(tmp_path):
    (program,) = blocks("docs/guides/loops.md", "python")
    run(tmp_path / "loops.py", program)


@pytest.mark.slow
def test_a_wheel_has_all_that_runs(tmp_path):
    """The folders kernels/ and apps/ come through links; setuptools must follow them."""
    if int(version("setuptools").partition(".")[0]) < 77:
        pytest.skip("a wheel is built without a network only where setuptools>=77 is installed (extra test)")
    lines = (ROOT / ".gitignore").read_text().splitlines()
    ignored = [line.strip("/") for line in lines if line and not line.startswith("#")]
    copy, installed = tmp_path / "checkout", tmp_path / "installed"
    shutil.copytree(ROOT, copy, symlinks=True, ignore=shutil.ignore_patterns(".git", *ignored))
    build = ["pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", str(tmp_path), str(copy)]
    ended = launch(0, "-m", *build, command=[sys.executable], limit_s=LIMIT_S)
    assert ended.rc == 0, ended.output
    (wheel,) = tmp_path.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(installed)
    for module in ("pennympi", "pennympi.apps.jacobi"):
        env = settled(2, PYTHONPATH=str(installed))
        ended = launch(2, "-P", "-m", module, env=env, limit_s=LIMIT_S)
        assert ended.rc == 0, ended.output
