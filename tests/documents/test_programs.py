"""The Python blocks of README.md and docs/, and the shell blocks of some pages, run unchanged.

Each Python block is a program; a block that begins with CONTINUES follows the blocks above it in the same file.
A block under `<!-- skip: next "reason" -->` does not run. `make docs` checks the links of all pages.
"""

import os
import re
import shutil
import sys
import zipfile
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from unittest import SkipTest

import pytest
from launch import ROOT, launch
from settled import backend, settled

CONTINUES = "# continues the block"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
RUN_EACH = """
import runpy
import sys

for path in sys.argv[1:]:
    print(path, flush=True)
    runpy.run_path(path, run_name="__main__")
"""
WIDEST = 100  # characters of a line of code that a window of 1400 pixels shows
LIMIT_S = 230  # below pytest's limit, whose message says less
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
    """The blocks of a page in one language, without those that are skipped."""
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
    """Write a program, run it at 3 ranks, and return its output."""
    program.write_text(text)
    ended = launch(3, str(program), env=settled(3), limit_s=LIMIT_S)
    assert ended.rc == 0 and not ended.left_in_shm and not ended.left_alive, ended.output
    return ended.output


@pytest.mark.parametrize(
    ("page", "least"),
    [pytest.param("README.md", 1, marks=pytest.mark.slow), ("docs/tutorial.md", 4), ("docs/guides/testing.md", 1)],
)
def test_shell_blocks(tmp_path, page, least):
    scripts = blocks(page, "sh")
    assert len(scripts) >= least
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    env = {"PATH": path, "PENNYMPI_BACKEND": backend(4)}
    script = "\n".join([f"set -e; cd '{tmp_path}'", *scripts])
    ended = launch(0, "-c", script, command=["bash"], env=env, limit_s=LIMIT_S)
    assert ended.rc == 0 and not ended.left_alive, ended.output


def programs(page):
    texts = []
    for block in blocks(page, "python"):
        if block.startswith(CONTINUES):
            texts[-1] += block
        else:
            texts.append(block)
    return texts


def test_the_python_blocks_of_every_page(tmp_path):
    paths = []
    for page in PAGES:
        for number, text in enumerate(programs(page)):
            paths.append(tmp_path / f"{page.stem}_{number}.py")
            paths[-1].write_text(text)
    (tmp_path / "run_each.py").write_text(RUN_EACH)
    ended = launch(2, str(tmp_path / "run_each.py"), *map(str, paths), env=settled(2), limit_s=LIMIT_S)
    assert ended.rc == 0 and not ended.left_in_shm and not ended.left_alive, ended.output


def test_code_fits_its_box():
    code = re.compile(r"^```.*?^```|(?<=\n\n)(?:    [^\n]*\n)+", re.MULTILINE | re.DOTALL)
    for page in (*PAGES, ROOT / "kernels" / "README.md"):
        lines = [line for text in code.findall(page.read_text()) for line in text.splitlines()]
        assert not [line for line in lines if len(line) > WIDEST], page


def test_both_programs_of_the_page_on_grids_give_the_same_bits(tmp_path):
    _, step, before, after = blocks("docs/guides/grids.md", "python")
    text = "\n".join([step, before, SAME_BITS.format(after=after)])
    assert run(tmp_path / "both.py", text).endswith("the same bits\n")


@pytest.mark.slow
def test_a_wheel_has_all_that_runs(tmp_path):
    """The folders kernels/ and apps/ are links, which setuptools must follow."""
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
