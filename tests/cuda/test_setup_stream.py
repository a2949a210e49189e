"""Set-up beside the program's streams (``cuda/setup_stream.py``), on a CUDA that writes down what it is asked."""

import importlib
import sys
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("cuda.bindings", reason="cuda-bindings is not installed")

NAMES = ("cupy", "pennympi.cuda.launch", "pennympi.cuda.events", "pennympi.cuda.setup_stream")
ASIDE, CURRENT = 71, 72  # streams


class Array(np.ndarray):
    """What stands for a CuPy array."""

    data = SimpleNamespace(ptr=4096)


class Stream:
    ptr = ASIDE

    def __init__(self, **options):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass


@pytest.fixture
def cuda(monkeypatch):
    """said: the calls in their order;  capturing: streams under capture"""
    made = SimpleNamespace(said=[], capturing=set())

    def note(name, answer=0):
        class Called:
            def __call__(self, *args):
                made.said.append((name, *(getattr(one, "value", one) for one in args)))
                return answer

        return Called()

    runtime = SimpleNamespace(
        streamIsCapturing=lambda stream: stream in made.capturing, memcpyAsync=note("copy"), memcpyDefault=4
    )
    current = SimpleNamespace(ptr=CURRENT)
    fakes = {
        "cupy": SimpleNamespace(
            cuda=SimpleNamespace(runtime=runtime, Stream=Stream, get_current_stream=lambda: current),
            ndarray=Array,
            ascontiguousarray=lambda array: array,
            empty=lambda n, dtype: np.empty(n, dtype).view(Array),
        ),
        "pennympi.cuda.launch": SimpleNamespace(
            checked=lambda result: result[1],
            library=SimpleNamespace(cuEventRecord=note("record"), cuStreamWaitEvent=note("wait")),
        ),
    }
    for name in NAMES:
        monkeypatch.delitem(sys.modules, name, raising=False)
    for name, fake in fakes.items():
        monkeypatch.setitem(sys.modules, name, fake)
    setup_stream, events = (importlib.import_module(f"pennympi.cuda.{name}") for name in ("setup_stream", "events"))
    for module in (setup_stream, events):
        plain = SimpleNamespace(
            cuThreadExchangeStreamCaptureMode=lambda mode: (0, mode),
            cuStreamSynchronize=lambda stream: (0, made.said.append(("synchronize", stream))),
            cuEventCreate=lambda flags: (0, 9),
            CUevent_flags=module.driver.CUevent_flags,
        )
        monkeypatch.setattr(module, "driver", plain)
    monkeypatch.setattr(setup_stream, "events", events)  # the package remembers the one of the test before
    made.setup_stream, made.events = setup_stream.SetupStream(), events
    made.said.clear()
    yield made
    for name in NAMES:
        sys.modules.pop(name, None)  # monkeypatch then puts back what there was


def test_an_array_of_the_device_is_copied_once_its_stream_has_made_it(cuda):
    cuda.setup_stream.copy_in(1 << 20, np.zeros(4, "i8").view(Array))
    assert cuda.said == [
        ("record", 9, CURRENT), ("wait", ASIDE, 9, 0), ("copy", 1 << 20, 4096, 32, 4, ASIDE), ("synchronize", ASIDE)
    ]  # fmt: skip


def test_a_capture_under_way_is_not_joined(cuda):
    cuda.capturing.add(CURRENT)
    cuda.setup_stream.copy_in(1 << 20, np.zeros(4, "i8").view(Array))
    assert [name for name, *_ in cuda.said] == ["copy", "synchronize"]


def test_an_array_of_the_host_waits_for_no_stream(cuda):
    cuda.setup_stream.copy_in(1 << 20, np.arange(4))
    assert [name for name, *_ in cuda.said] == ["copy", "synchronize"]


def test_the_order_keeps_no_stream_that_its_object_does_not_keep_alive(cuda):
    """It may be destroyed, and its handle given to another stream, while the object lives."""
    own, foreign, pooled = Stream(), Stream(), type("Stream", (), {"__module__": "torch.cuda.streams"})()
    foreign._foreign_stream_ref = pooled  # as ``Stream.from_external`` of CuPy sets it
    external = type("ExternalStream", (type(pooled),), {"__module__": "torch.cuda.streams"})()
    found = [cuda.events.owner(stream) for stream in (own, pooled, foreign, external, None)]
    assert found == [own, pooled, None, None, None]
