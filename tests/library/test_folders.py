"""tests/README.md has a line for every file of tests/, and every test lies in the folder of what it tests."""

import re
from pathlib import Path

import pytest
import rooms

TESTS = Path(__file__).resolve().parents[1]
SOURCES = rooms.read(TESTS.parent, "tests")
FILES = {path: source for path, source in SOURCES.items() if path.count("/") > 1}  # all but conftest.py
OF_APPS, OF_OTHERS = ("heat3d", "jacobi", "poisson"), ("support", "machine")
OF_TESTS = ("kernels", "library", "cuda", *OF_APPS, "examples")
TEST_FILES = {path: source for path, source in FILES.items() if Path(path).name.startswith("test_")}
# The solver's kernels are only a part of what these test; and these only name what they read.
WITH_THE_SOLVER_TOO = {
    "tests/cuda/test_ptx.py",
    "tests/kernels/test_machine_mutations.py",
    "tests/library/test_needs_mpi.py",
}
READERS = {"tests/library/test_folders.py", "tests/library/test_rooms.py"}


def folder_of(path):
    return path.split("/")[1]


def imported(source, *packages):
    """Whether a file imports one of the packages, or names it in a string."""
    targets = {target for one in source.imports for target in source.targets(one)}
    return any(
        f'"{package}.' in source.text or any(f"{target}.".startswith(f"{package}.") for target in targets)
        for package in packages
    )


def listed():
    """{folder: {file below it: what its line says}} of the page."""
    sections = re.split(r"^## (\w+)/$", (TESTS / "README.md").read_text(), flags=re.MULTILINE)[1:]
    lines = re.compile(r"^\| `([\w./]+\.py)` \| (.+) \|$", re.MULTILINE)
    return {name: dict(lines.findall(text)) for name, text in zip(sections[::2], sections[1::2], strict=True)}


@pytest.mark.parametrize("folder", [*OF_TESTS, *OF_OTHERS])
def test_every_file_has_its_line(folder):
    """In alphabetical order, but for programs, which come last."""
    there = [path.removeprefix(f"tests/{folder}/") for path in FILES if folder_of(path) == folder]
    assert list(listed()[folder]) == sorted(there, key=lambda name: (name.count("/"), name))


def test_every_folder_has_its_section():
    assert sorted(listed()) == sorted({folder_of(path) for path in FILES}) == sorted([*OF_TESTS, *OF_OTHERS])


def test_tests_lie_in_the_folders_of_tests():
    assert {folder_of(path) for path in TEST_FILES} == set(OF_TESTS)
    assert not {path for path in FILES if folder_of(path) in OF_TESTS} - set(TEST_FILES)
    names = [Path(path).name for path in TEST_FILES]
    assert len(names) == len(set(names)), "pytest imports test files by their names alone"


@pytest.mark.parametrize("path", [path for path in TEST_FILES if path not in READERS])
def test_a_file_lies_where_what_it_imports_says(path):
    source, folder = TEST_FILES[path], folder_of(path)
    if path not in WITH_THE_SOLVER_TOO:
        assert (folder in OF_APPS) == imported(source, "apps")
    if folder not in OF_APPS:
        assert folder == "cuda" or not imported(source, "pennympi.cuda", "numba.cuda", "numba_cuda")
    if imported(source, "machine"):
        assert "/test_machine" in path if folder == "kernels" else path.endswith("_machine.py")
