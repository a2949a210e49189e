"""Functions of kernels/: how long they are, how many parameters they take, and that they use them all.

Functions with more parameters are listed, and the list is exact: whoever mends a function takes it out.
"""

import ast
from pathlib import Path

import pytest
import rooms

ROOT = Path(__file__).resolve().parents[2]
MOST_LINES, MOST_PARAMETERS = rooms.MOST_LINES, rooms.MOST_PARAMETERS
KERNELS = rooms.read(ROOT, "kernels")
FUNCTIONS = [function for source in KERNELS.values() for function in source.functions]

# file: functions of more than MOST_PARAMETERS parameters; block.py has the primitives
KNOWN_WIDE: dict[str, str] = {
    "block.py": "put_signal combine combine_put send_packets receive_packets receive_plus all_to_all_packets "
    "exchange_reduce_packets reduce_forward_packets combine_packets",
}


def named(field):
    """Names of the functions that rows of the tables have in a field."""
    calls = [node for source in KERNELS.values() for node in ast.walk(source.syntax) if isinstance(node, ast.Call)]
    return {word.value.id for call in calls for word in call.keywords if word.arg == field and hasattr(word.value, "id")}


CALLED_ALIKE = named("plan") | named("refuse")  # with the same arguments for all rows, whatever a row needs


def test_functions_are_short():
    assert not {one.where: one.n_lines for one in FUNCTIONS if one.n_lines > MOST_LINES}


def test_functions_take_few_parameters():
    wide = {one.where for one in FUNCTIONS if len(one.parameters) > MOST_PARAMETERS}
    assert wide == {f"kernels/{path}:{name}" for path, names in KNOWN_WIDE.items() for name in names.split()}


def test_parameters_are_used():
    used_by_all = [one for one in FUNCTIONS if not one.is_stub and one.name not in CALLED_ALIKE]
    assert len(used_by_all) > 30
    assert not {one.where: one.unused for one in used_by_all if one.unused}


@pytest.mark.parametrize("name", sorted(CALLED_ALIKE))
def test_functions_of_one_field_take_the_same(name):
    """Those that may leave parameters unused."""
    plan, refuse = ("count", "item_bytes", "acc_bytes", "place", "limits"), ("place", "dtype", "op")
    assert {one.parameters for one in FUNCTIONS if one.name == name} <= {plan, refuse}
