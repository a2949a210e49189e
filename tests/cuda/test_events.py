"""For which stream objects the library keeps the order of calls; CuPy is a stand-in."""

from unittest.mock import MagicMock

import pytest
from fake_modules import imported_over

pytest.importorskip("cuda.bindings", reason="cuda-bindings is not installed")


class Stream:
    """A stand-in for a stream of CuPy."""


@pytest.fixture
def events():
    fakes = {name: MagicMock() for name in ("cupy", "pennympi.cuda.compiler.launch")}
    fakes["cupy"].cuda.Stream = Stream
    with imported_over(fakes, "streams.events") as module:
        yield module


def test_the_order_keeps_no_stream_that_its_object_does_not_keep_alive(events):
    """The stream may be destroyed, and another stream get its handle, while the object lives."""
    own, foreign, pooled = Stream(), Stream(), type("Stream", (), {"__module__": "torch.cuda.streams"})()
    foreign._foreign_stream_ref = pooled  # CuPy's ``Stream.from_external`` sets it
    external = type("ExternalStream", (type(pooled),), {"__module__": "torch.cuda.streams"})()
    found = [events.owner(stream) for stream in (own, pooled, foreign, external, None)]
    assert found == [own, pooled, None, None, None]
