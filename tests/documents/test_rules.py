"""Rules for names that a program can check: each name explains itself."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = "apps", "benchmarks", "examples", "kernels", "pennympi", "tests", "tools"
# Pronouns and adverbs do not say what they name.
VAGUE = {
    "one", "other", "every", "now", "there", "here", "given", "made", "found", "at", "beside", "beyond", "near",
}  # fmt: skip
PUBLIC = {("pennympi/errors.py", "found"), ("pennympi/loop.py", "every")}  # parameters that programs use


def vague_names(path):
    """(file, name, line) of the functions and parameters in a file that have such a name."""
    file = path.relative_to(ROOT).as_posix()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and node.name in VAGUE:
            yield file, node.name, node.lineno
        if isinstance(node, ast.arg) and node.arg in VAGUE:
            yield file, node.arg, node.lineno


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_function_and_no_parameter_is_called_by_a_pronoun_or_adverb(folder):
    paths = sorted((ROOT / folder).rglob("*.py"))
    assert paths, "the folder has moved"
    assert [name for path in paths for name in vague_names(path) if name[:2] not in PUBLIC] == []
