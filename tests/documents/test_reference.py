"""Lists that are written by hand name all that there is."""

import re
from pathlib import Path
from typing import get_args

import pytest

import pennympi
from pennympi import annotations
from pennympi.__main__ import COMMANDS
from pennympi.arrays.operators import MEAN, NAMES
from pennympi.collectives.allreduce import AllReduce
from pennympi.collectives.calls import ALL
from pennympi.kernels.allreduce import PLANNED
from pennympi.kernels.exchange import TABLE as FORMS

ROOT = Path(__file__).resolve().parents[2]
COLLECTIVES = {"allreduce": {**AllReduce.table, **PLANNED}, **{one.name: one.table for one in ALL}}


def test_the_reference_has_all_public_names():
    pages = "".join(path.read_text() for path in (ROOT / "docs" / "reference").glob("*.md"))
    assert set(re.findall(r"^::: pennympi\.(\w+)$", pages, re.MULTILINE)) == set(pennympi.__all__)
    assert not [name for name in COMMANDS if name != "report" and f"`python -m pennympi {name}" not in pages]


@pytest.mark.parametrize("page", ["docs/algorithms.md", "kernels/README.md"])
def test_pages_have_all_algorithms(page):
    text = (ROOT / page).read_text()
    missing = [name for table in COLLECTIVES.values() for name in table if not re.search(rf"\b{name}\b", text)]
    assert not missing


def test_annotations_have_all_names():
    """The Literals that editors and type checkers read, in the order of the tables."""
    assert get_args(annotations.OpName) == (*NAMES, MEAN)
    assert get_args(annotations.ExchangeForm) == tuple(FORMS)
    for name, table in COLLECTIVES.items():
        literal = getattr(annotations, "PlannedAllReduceAlgorithm" if name == "allreduce" else f"{kind(name)}Algorithm")
        every = [one for part in get_args(literal) for one in get_args(part) or [part]]
        assert every == ["auto", *table], name


def kind(name):
    """The class of a collective."""
    return next(one.__name__ for one in ALL if one.name == name)
