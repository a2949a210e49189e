"""Rules for names that a program can check: each name explains itself."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# Pronouns and adverbs do not say what they name.
VAGUE = {
    "one", "other", "every", "now", "there", "here", "given", "made", "found", "at", "beside", "beyond", "near",
}  # fmt: skip
# Folders without such names; the other folders will follow.
CLEAN = (
    "apps/jacobi/variants",
    "apps/jacobi/verify",
    "apps/poisson",
    "apps/program",
    "benchmarks",
    "kernels",
    "kernels/all_gather",
    "kernels/all_gatherv",
    "kernels/all_to_all",
    "kernels/all_to_allv",
    "kernels/allreduce",
    "kernels/broadcast",
    "kernels/by_counts",
    "kernels/halo",
    "kernels/in_kernel",
    "kernels/reduce",
    "kernels/reduce_scatter",
    "kernels/reduce_scatterv",
    "kernels/sweep",
    "pennympi/arrays",
    "pennympi/bench",
    "pennympi/bench/baselines",
    "pennympi/collectives",
    "pennympi/command",
    "pennympi/compile",
    "pennympi/cuda",
    "pennympi/cuda/compiler",
    "pennympi/cuda/device",
    "pennympi/cuda/memory",
    "pennympi/cuda/streams",
    "pennympi/host",
    "pennympi/host/device",
    "pennympi/host/runtime",
    "pennympi/job",
    "pennympi/memory",
    "pennympi/mpi",
    "pennympi/selection",
    "pennympi/simulator",
    "pennympi/stencil/on_gpu",
    "pennympi/topology",
    "tests",
    "tests/documents",
    "tests/soak",
    "tests/soak/programs",
    "tests/suites",
    "tools",
)


def vague_names(path):
    """(line, name) of the functions and parameters in a file that have such a name."""
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
