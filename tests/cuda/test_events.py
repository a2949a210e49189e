"""Which objects of streams the order of calls may keep, on a CuPy that is not there."""

from unittest.mock import MagicMock

import pytest
from fake_modules import imported_over

pytest.importorskip("cuda.bindings", reason="cuda-bindings is not installed")


class Stream:
    """What stands for a stream of CuPy."""


@pytest.fixture
def events():
    fakes = {name: MagicMock() for name in ("cupy", "pennympi.cuda.compiler.launch")}
    fakes["cupy"].cuda.Stream = Stream
    with imported_over(fakes, "streams.events") as module:
        yield module


def test_the_order_keeps_no_stream_that_its_object_does_not_keep_alive(events):
    """It may be destroyed, and its handle given to another stream, while the object lives."""
    own, foreign, pooled = Stream(), Stream(), type("Stream", (), {"__module__": "torch.cuda.streams"})()
    foreign._foreign_stream_ref = pooled  # as ``Stream.from_external`` of CuPy sets it
    external = type("ExternalStream", (type(pooled),), {"__module__": "torch.cuda.streams"})()
    found = [events.owner(stream) for stream in (own, pooled, foreign, external, None)]
    assert found == [own, pooled, None, None, None]
