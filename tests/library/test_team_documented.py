"""Each public method of Team says whether it is collective, and which errors it raises for its arguments."""

import builtins
import inspect
import re

import pytest

import pennympi
from pennympi import Team

METHODS = {name: method for name, method in inspect.getmembers(Team, inspect.isfunction) if not name.startswith("_")}


@pytest.mark.parametrize("name", METHODS)
def test_says_whether_it_is_collective(name):
    assert re.search(r"\b(Not collective|Collective|collective over)\b", inspect.getdoc(METHODS[name]))


@pytest.mark.parametrize(
    "name", [name for name, method in METHODS.items() if len(inspect.signature(method).parameters) > 1]
)
def test_names_what_it_raises(name):
    sentences = re.findall(r"Raises (.*?)(?:\.$|\.  |\Z|; see)", inspect.getdoc(METHODS[name]), re.DOTALL | re.MULTILINE)
    assert sentences, "it has arguments, and no sentence that begins with Raises"
    for sentence in sentences:
        other = re.fullmatch(r"as ``(\w+)``", sentence)
        names = re.findall(r"\b[A-Z]\w*[a-z]{2}\w*\b", sentence)
        assert names or other[1] in METHODS
        for error in names:
            assert issubclass(getattr(pennympi, error, None) or getattr(builtins, error), Exception)
