"""The streams of a team on a GPU."""

from collections.abc import Sequence
from typing import Any

import cupy
from cuda.bindings import driver

from ...backend import Body
from ...compile import context as ctx_words
from ...memory.order import Order
from ..compiler.compiler import Compiler
from ..compiler.launch import checked
from ..memory.peers import Peers
from . import events
from .condition import THREADS, hold
from .loops import Repeat


class Streams:
    """See ``pennympi.backend.Streams``."""

    new = staticmethod(events.make)
    handle = staticmethod(events.handle)
    capture_id = staticmethod(events.capture_id)

    def __init__(self, order: Order, compiler: Compiler, peers: Peers):
        self.order, self._compiler, self._peers = order, compiler, peers
        self._followed: Any = None  # the event of ``follow``

    def current(self) -> cupy.cuda.Stream:
        """CuPy's current stream."""
        return cupy.cuda.get_current_stream()

    def follow(self, stream: int, predecessor: int) -> None:
        with self.order.lock:  # all threads share the event
            event = self._followed = self._followed or events.new_event()
            events.record(event, predecessor)
            events.wait(event, stream)

    def repeat(self, start: Body, bodies: Sequence[Body], rest: int) -> Body:
        return Repeat((self.order, self._compiler, self._peers), start, bodies, rest)

    def hold_if_given_up(self, stream: int) -> None:
        if self.order.in_body(stream):
            self._compiler.kernel(hold, "loop").launch(1, (), stream, THREADS)
            return
        word = self._peers.ctx_address + 8 * ctx_words.GAVE_UP
        equal = driver.CUstreamWaitValue_flags.CU_STREAM_WAIT_VALUE_EQ
        checked(driver.cuStreamWaitValue64(stream, word, 0, equal))

    def synchronize(self, stream: Any) -> None:
        self.order.record_pending()
        if stream is None:
            events.poll(events.event_passed, self.order.last)
            checked(driver.cuCtxSynchronize())
            self._peers.end_puts()
        else:
            handle = events.handle(stream)
            events.poll(events.stream_ran, handle)
            checked(driver.cuStreamSynchronize(handle))
        if self._peers.abort[0]:
            self._peers.raise_failure()
