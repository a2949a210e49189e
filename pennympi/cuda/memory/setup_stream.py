"""Work on this PE's memory that waits for no stream of the program.

A call may come while a stream waits for a peer that waits for this call, or while a stream is being captured.  So no
function of this file waits for the device, allocates memory, or joins a capture.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import cupy
import numpy as np
from cuda.bindings import driver

from ...memory.freelist import FreeList
from ..compiler.launch import checked
from ..streams import events

_runtime = cupy.cuda.runtime
_RELAXED = driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
SEED_ELEMS = 4096  # elements that ``fill`` copies from the host
CHUNK_BYTES = 8 << 20  # size of a chunk of words; the first is allocated before any stream can wait


@contextmanager
def beside_captures() -> Iterator[None]:
    """Let this thread make calls that an open capture would forbid; the calls do not become part of the capture."""
    mode = checked(driver.cuThreadExchangeStreamCaptureMode(_RELAXED))
    try:
        yield
    finally:
        checked(driver.cuThreadExchangeStreamCaptureMode(mode))


class SetupStream:
    """A stream of the process that waits for no other stream, and words in device memory.

    Every function returns after its work has ended.
    """

    def __init__(self) -> None:
        self._stream = cupy.cuda.Stream(non_blocking=True)
        self._event = events.new_event()
        self._chunks: list[cupy.ndarray] = []
        self._words = FreeList()
        self._add_words(CHUNK_BYTES)

    beside_captures = staticmethod(beside_captures)

    @contextmanager
    def synchronized(self) -> Iterator[int]:
        """Make the stream current in the block, and wait for the stream at the end of the block."""
        with beside_captures():
            with self._stream:
                yield self._stream.ptr
            checked(driver.cuStreamSynchronize(self._stream.ptr))

    def copy_in(self, address: int, data: Any) -> None:
        """Copy a NumPy array, or a CuPy array after the current stream has written it."""
        if isinstance(data, cupy.ndarray):
            data = cupy.ascontiguousarray(data)
            source, current = data.data.ptr, events.handle(None)
            if not events.is_capturing(current):
                events.record(self._event, current)
                events.wait(self._event, self._stream.ptr)
        else:
            data = np.ascontiguousarray(data)
            source = data.ctypes.data
        with self.synchronized() as stream:
            _runtime.memcpyAsync(address, source, data.nbytes, _runtime.memcpyDefault, stream)

    def fill(self, view: cupy.ndarray, value: Any) -> None:
        """Set every element without a kernel, which might have to be loaded first: by a memset if all bytes are equal,
        else by copies that double the part that is set."""
        element, address = np.asarray(value).astype(view.dtype), view.data.ptr
        if len(set(element.tobytes())) == 1:
            with self.synchronized() as stream:
                _runtime.memsetAsync(address, element.tobytes()[0], view.nbytes, stream)
            return
        seed = np.full(min(view.size, SEED_ELEMS), element)
        done = seed.nbytes
        self.copy_in(address, seed)
        with self.synchronized() as stream:
            while done < view.nbytes:
                part = min(done, view.nbytes - done)
                _runtime.memcpyAsync(address + done, address, part, _runtime.memcpyDefault, stream)
                done += part

    def take_words(self, words: Sequence[int]) -> int:
        """Allocate int64 words with these values and return their address."""
        nbytes = 8 * len(words)
        address = self._words.take(nbytes)
        if address is None:
            with beside_captures():
                self._add_words(max(nbytes, CHUNK_BYTES))
            return self.take_words(words)
        self.copy_in(address, np.array(words, np.int64))
        return address

    def free_words(self, address: int) -> None:
        """Free words of ``take_words``."""
        self._words.release(address)

    def _add_words(self, nbytes: int) -> None:
        self._chunks.append(cupy.empty(-(-nbytes // 256) * 256, np.uint8))
        self._words.add(self._chunks[-1].data.ptr, self._chunks[-1].nbytes)
