"""Which objects of streams the order of calls may keep, on a CuPy that is not there."""

import importlib
import sys
from unittest.mock import MagicMock

import pytest

pytest.importorskip("cuda.bindings", reason="cuda-bindings is not installed")

NAMES = ("cupy", "pennympi.cuda.launch", "pennympi.cuda.events")


class Stream:
    """What stands for a stream of CuPy."""


@pytest.fixture
def events(monkeypatch):
    for name in NAMES:
        monkeypatch.delitem(sys.modules, name, raising=False)
    for name in NAMES[:2]:
        monkeypatch.setitem(sys.modules, name, MagicMock())
    sys.modules["cupy"].cuda.Stream = Stream
    yield importlib.import_module("pennympi.cuda.events")
    for name in NAMES:
        sys.modules.pop(name, None)  # monkeypatch then puts back what there was


def test_the_order_keeps_no_stream_that_its_object_does_not_keep_alive(events):
    """It may be destroyed, and its handle given to another stream, while the object lives."""
    own, foreign, pooled = Stream(), Stream(), type("Stream", (), {"__module__": "torch.cuda.streams"})()
    foreign._foreign_stream_ref = pooled  # as ``Stream.from_external`` of CuPy sets it
    external = type("ExternalStream", (type(pooled),), {"__module__": "torch.cuda.streams"})()
    found = [events.owner(stream) for stream in (own, pooled, foreign, external, None)]
    assert found == [own, pooled, None, None, None]
