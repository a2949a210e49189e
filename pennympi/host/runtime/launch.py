"""Launches of a compiled kernel on a CPU: a call, then a check whether one of its waits gave up."""

import threading
import zlib
from array import array
from collections.abc import Callable, Sequence
from typing import Any

from ...arrays.dtypes import DType
from ...backend import Run, prepared_by_launch
from ...compile import context as ctx_words
from ...errors import TwoThreads
from ...once import once
from .compile import loop_words

GAVE_UP = ctx_words.GAVE_UP


class HostKernel:
    """A compiled kernel, and the words that ``ctx`` must hold while it runs.

    residual: True if its calls pass a residual, for which a reduction has more element loops
    many_blocks: a launch may have more than one block
    """

    def __init__(
        self,
        peers: Any,
        compiled: Callable[..., None],
        name: str,
        reduction: tuple[DType, str] | None,
        residual: bool = False,
        many_blocks: bool = False,
    ):
        self._peers, self._compiled = peers, _one_at_a_time(compiled) if many_blocks else compiled
        words = [zlib.crc32(name.encode())]
        if reduction:
            words += loop_words(*reduction, residual)
        peers.call_names[words[0]] = name
        self._ctx = memoryview(peers.ctx)  # faster to read than an array
        self._words = memoryview(array("q", words)).cast("B")
        self._to = self._ctx.cast("B")[8 * ctx_words.CALL : 8 * (ctx_words.CALL + len(words))]
        self._begin, self._end = peers.calls.acquire, peers.calls.release

    def launch(self, blocks: int, args: Sequence[int | float], stream: int, threads: int = 0) -> None:
        """Run the kernel, and return when it has ended.

        Raises PeerTimeout; then the kernel has not run if an earlier wait gave up.  Raises TwoThreads if another launch
        runs.
        """
        ctx = self._ctx
        if not self._begin(False):
            raise _two_threads()
        try:
            if not ctx[GAVE_UP]:
                self._to[:] = self._words
                self._compiled(blocks, self._peers.ctx_address, *args)
        finally:
            self._end()
        if ctx[GAVE_UP]:
            raise self._peers.failure()

    def prepare(self, blocks: int, args: Sequence[int | float], left_open: tuple[int, ...], threads: int = 0) -> Run:
        """A function that launches with new values of the arguments ``left_open`` (indices) at each call."""
        first, last = min(left_open), max(left_open) + 1
        if left_open != tuple(range(first, last)):
            return prepared_by_launch(self, blocks, args, left_open)
        before, after = (blocks, self._peers.ctx_address, *args[:first]), tuple(args[last:])
        ctx, to, words, compiled, begin, end = self._ctx, self._to, self._words, self._compiled, self._begin, self._end

        def run(*values: int) -> None:  # as ``launch``, without its inner calls; the last value is the stream
            if not begin(False):
                raise _two_threads()
            try:
                if not ctx[GAVE_UP]:
                    to[:] = words
                    compiled(*before, *values[:-1], *after)
            finally:
                end()
            if ctx[GAVE_UP]:
                raise self._peers.failure()

        return run


def _two_threads() -> TwoThreads:
    return TwoThreads(
        "two threads call one team, or one kernel of several blocks on two teams, at the same time: "
        "let one call return before the next begins"
    )


@once
def _one_at_a_time(compiled: Callable[..., None]) -> Callable[..., None]:
    """Machine code that all teams share, for one launch at a time, since all share the number of the running block."""
    lock = threading.Lock()

    def run(*args: Any) -> None:
        if not lock.acquire(False):
            raise _two_threads()
        try:
            compiled(*args)
        finally:
            lock.release()

    return run
