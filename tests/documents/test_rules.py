"""Rules of the house that a program can check: names that explain themselves, code that fits its box."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# Pronouns and adverbs say nothing about what they name.
VAGUE = {
    "one", "other", "every", "now", "there", "here", "given", "made", "found", "at", "beside", "beyond", "near",
}  # fmt: skip
# Folders that have none; the others follow.
CLEAN = (
    "apps/jacobi/variants",
    "apps/jacobi/verify",
    "apps/poisson",
    "apps/program",
    "kernels/all_gather",
    "kernels/all_gatherv",
    "kernels/all_to_all",
    "kernels/all_to_allv",
    "kernels/broadcast",
    "kernels/in_kernel",
    "kernels/reduce",
    "kernels/reduce_scatter",
    "kernels/reduce_scatterv",
    "pennympi/arrays",
    "pennympi/bench/baselines",
    "pennympi/cuda",
    "pennympi/cuda/compiler",
    "pennympi/cuda/memory",
    "pennympi/host",
    "pennympi/stencil/on_gpu",
    "tools",
)
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "apps").rglob("README.md")])
BOX_COLUMNS = 100  # of a block of code on the site


def vague_names(path):
    """(line, name) of functions and parameters in a file that have such a name."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and node.name in VAGUE:
            yield node.lineno, node.name
        if isinstance(node, ast.arg) and node.arg in VAGUE:
            yield node.lineno, node.arg


@pytest.mark.parametrize("folder", CLEAN)
def test_no_function_and_no_parameter_is_called_by_a_pronoun_or_adverb(folder):
    paths = sorted((ROOT / folder).glob("*.py"))
    assert paths, "the folder has moved"
    assert [f"{path.name}:{line} {name}" for path in paths for line, name in vague_names(path)] == []


def wide_lines(path):
    """(line, columns) of the lines in a page's blocks of code that do not fit."""
    inside = False
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if line.lstrip().startswith("```"):
            inside = not inside
        elif inside and len(line) > BOX_COLUMNS:
            yield number, len(line)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_code_is_wider_than_its_box(page):
    assert list(wide_lines(page)) == []
