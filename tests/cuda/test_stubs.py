"""A body whose stubs are not all replaced is an error that names the stub, before anything is compiled."""

import pytest

pytest.importorskip("numba_cuda", reason="numba-cuda is not installed")

from pennympi.compile.bind import bind
from pennympi.cuda import combine, packets, stubs


@pytest.mark.parametrize(
    ("body", "given", "missing"),
    [(combine.combine, {}, "ITEM_BYTES"), (combine.plus, {"ITEM_BYTES": 4, "ALIGNED": True}, "plus_pair")],
)
def test_a_missing_replacement_is_named(body, given, missing):
    with pytest.raises(KeyError, match=missing):
        bind(body, {}, lambda helper: helper, given)


def test_a_replaced_stub_is_what_was_given():
    bound = bind(packets.word_at, {}, lambda helper: helper, {"ALIGNED": True, "load_word": lambda address: address})
    assert bound(16, 8, 24) == 24 and bound(16, 24, 24) == 0


def test_a_stub_does_nothing_by_itself():
    with pytest.raises(NotImplementedError, match="begin is a stub"):
        stubs.begin((0, 0))
