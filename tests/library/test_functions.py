"""Functions of kernels/: how long they are, how many parameters they take, and that they use them all.

What is known to be otherwise is listed, and the lists are exact: whoever mends a function takes it out.
"""

import ast
from pathlib import Path

import pytest
import rooms

ROOT = Path(__file__).resolve().parents[2]
MOST_LINES, MOST_PARAMETERS = rooms.MOST_LINES, rooms.MOST_PARAMETERS
KERNELS = rooms.read(ROOT, "kernels")
FUNCTIONS = [function for source in KERNELS.values() for function in source.functions]

# file: functions of more than MOST_LINES lines
KNOWN_LONG: dict[str, str] = {
    "allreduce/half_butterfly.py": "half_butterfly",
    "allreduce/halving_doubling.py": "halving_doubling",
    "allreduce/hierarchical.py": "hierarchical",
    "allreduce/multi_ring.py": "multi_ring",
    "allreduce/recursive_doubling.py": "recursive_doubling",
    "allreduce/tree.py": "tree",
    "allreduce/two_shot.py": "two_shot",
    "allreduce/two_shot_direct.py": "two_shot_direct",
}

# file: functions of more than MOST_PARAMETERS parameters; block.py has the primitives
KNOWN_WIDE: dict[str, str] = {
    "all_gather/direct.py": "direct",
    "all_gather/naive.py": "naive",
    "all_gather/packets.py": "packets",
    "all_gather/ring.py": "ring",
    "all_to_all/direct.py": "direct",
    "all_to_all/packets.py": "packets",
    "all_to_all/pairwise.py": "pairwise",
    "allreduce/half_butterfly.py": "half_butterfly",
    "allreduce/halving_doubling.py": "halving_doubling",
    "allreduce/hierarchical.py": "tell hear hierarchical",
    "allreduce/multi_ring.py": "multi_ring",
    "allreduce/nvls.py": "nvls",
    "allreduce/one_shot.py": "put_all one_shot",
    "allreduce/one_shot_packets.py": "one_shot_packets",
    "allreduce/recursive_doubling.py": "recursive_doubling",
    "allreduce/simple_ring.py": "simple_ring",
    "allreduce/tree.py": "tree",
    "allreduce/two_shot.py": "put_parts collect two_shot",
    "allreduce/two_shot_copied.py": "put_piece two_shot_copied",
    "allreduce/two_shot_direct.py": "two_shot_direct",
    "allreduce/two_shot_packets.py": "two_shot_packets",
    "block.py": "put_signal combine combine_put send_packets receive_packets receive_plus all_to_all_packets "
    "exchange_reduce_packets reduce_forward_packets combine_packets",
    "broadcast/packets.py": "packets",
    "broadcast/ring.py": "ring",
    "broadcast/spread.py": "spread",
    "exchange/put_barrier.py": "exchange_put_barrier",
    "exchange/put_fence_signal.py": "exchange_put_fence_signal",
    "exchange/put_signal.py": "exchange_put_signal",
    "exchange_rows.py": "put_rows exchange_rows",
    "reduce/direct.py": "direct",
    "reduce/gathered.py": "gathered",
    "reduce/packets.py": "packets",
    "reduce/ring.py": "ring",
    "reduce_scatter/direct.py": "put_chunks direct",
    "reduce_scatter/packets.py": "packets",
    "reduce_scatter/ring.py": "ring",
    "residual.py": "add_residual",
    "rma/on_stream.py": "put_bytes_signal",
}

# file: functions, with the parameters that they do not use
KNOWN_UNUSED: dict[str, str] = {
    "all_gather/direct.py": "direct(acc_bytes,outbox,routes)",
    "all_gather/naive.py": "naive(acc_bytes,routes)",
    "all_gather/packets.py": "packets(acc_bytes,outbox,signals,routes)",
    "all_gather/ring.py": "ring(acc_bytes,routes)",
    "all_to_all/direct.py": "direct(acc_bytes,outbox,routes)",
    "all_to_all/packets.py": "packets(acc_bytes,outbox,signals,routes)",
    "all_to_all/pairwise.py": "pairwise(acc_bytes,routes)",
    "allreduce/half_butterfly.py": "half_butterfly(routes)",
    "allreduce/halving_doubling.py": "halving_doubling(routes)",
    "allreduce/hierarchical.py": "hierarchical(me)",
    "allreduce/multi_ring.py": "multi_ring(me)",
    "allreduce/nvls.py": "nvls(acc_bytes,routes)",
    "allreduce/one_shot.py": "one_shot(acc_bytes,routes)",
    "allreduce/one_shot_packets.py": "one_shot_packets(acc_bytes,signals,routes)",
    "allreduce/recursive_doubling.py": "recursive_doubling(routes)",
    "allreduce/simple_ring.py": "simple_ring(routes)",
    "allreduce/tree.py": "tree(me,n_pes)",
    "allreduce/two_shot.py": "two_shot(acc_bytes,routes)",
    "allreduce/two_shot_copied.py": "two_shot_copied(acc_bytes,routes)",
    "allreduce/two_shot_direct.py": "two_shot_direct(acc_bytes,routes)",
    "allreduce/two_shot_packets.py": "two_shot_packets(acc_bytes,signals,routes)",
    "broadcast/packets.py": "packets(acc_bytes,outbox,routes)",
    "broadcast/ring.py": "ring(acc_bytes,epochs,routes)",
    "broadcast/spread.py": "spread(acc_bytes,outbox,routes)",
    "reduce/direct.py": "direct(acc_bytes,routes)",
    "reduce/gathered.py": "gathered(acc_bytes,routes)",
    "reduce/packets.py": "packets(acc_bytes,routes)",
    "reduce/ring.py": "ring(epochs,routes)",
    "reduce_scatter/direct.py": "direct(acc_bytes,routes)",
    "reduce_scatter/packets.py": "packets(acc_bytes,signals,routes)",
    "reduce_scatter/ring.py": "ring(routes)",
}


def named(field):
    """Names of the functions that rows of the tables have in a field."""
    calls = [node for source in KERNELS.values() for node in ast.walk(source.syntax) if isinstance(node, ast.Call)]
    return {word.value.id for call in calls for word in call.keywords if word.arg == field and hasattr(word.value, "id")}


CALLED_ALIKE = named("plan") | named("refuse")  # with the same arguments for all rows, whatever a row needs


def assert_known(found, known):
    """found: a function's place, and what to say of it;  known: file -> names"""
    listed = {f"kernels/{path}:{name}" for path, names in known.items() for name in names.split()}
    new = {where: say for where, say in found.items() if where not in listed}
    assert not new, "mend these"
    mended = listed - set(found)
    assert not mended, "take these out of the list"


def test_functions_are_short():
    assert_known({one.where: one.n_lines for one in FUNCTIONS if one.n_lines > MOST_LINES}, KNOWN_LONG)


def test_functions_take_few_parameters():
    wide = {one.where: one.parameters for one in FUNCTIONS if len(one.parameters) > MOST_PARAMETERS}
    assert_known(wide, KNOWN_WIDE)


def test_parameters_are_used():
    used_by_all = [one for one in FUNCTIONS if not one.is_stub and one.name not in CALLED_ALIKE]
    unused = {f"{one.where}({','.join(one.unused)})": "unused" for one in used_by_all if one.unused}
    assert len(used_by_all) > 30
    assert_known(unused, KNOWN_UNUSED)


@pytest.mark.parametrize("name", sorted(CALLED_ALIKE))
def test_functions_of_one_field_take_the_same(name):
    """Those that may leave parameters unused."""
    plan, refuse = ("count", "item_bytes", "acc_bytes", "place", "limits"), ("place", "dtype", "op")
    assert {one.parameters for one in FUNCTIONS if one.name == name} <= {plan, refuse}
