"""The state that the teams of a process share after a wait that has given up.

A kernel of another team may be queued after the kernel that waited, and may read its wrong results.  So the
``ctx`` of every team says that this PE has given up, one abort word ends all waits, and the next call of every team
raises.
"""

from __future__ import annotations

import cupy
import numpy as np

from ...compile import context as ctx_words

MOST_TEAMS = 4096
_runtime = cupy.cuda.runtime


class GivenUp:
    """The state of a process.

    abort:      a word: 0, or 1 if a wait has given up
    record:     words that describe the first wait that gave up (``compile/context.py``)
    call_names: {number of a call in the record: its name}
    """

    def __init__(self) -> None:
        n_words = 1 + ctx_words.RECORD_WORDS
        self._pinned = cupy.cuda.alloc_pinned_memory(8 * n_words)
        words = np.frombuffer(self._pinned, np.int64, n_words)
        words[:] = 0
        self.abort = memoryview(words.data)[:1]  # a memoryview is read faster than an array
        self.record = words[1:]
        self.call_names: dict[int, str] = {}
        self._ctxs: list[int] = []
        self._shared = cupy.cuda.alloc(8 * (2 + MOST_TEAMS))  # taken, number of teams, their ``ctx``s
        _runtime.memset(self._shared.ptr, 0, 16)

    def words(self) -> dict[int, int]:
        """{index: value} of the words of ``ctx`` that point to this state."""
        return {
            ctx_words.ABORT: self._pinned.ptr,
            ctx_words.RECORD: self._pinned.ptr + 8,
            ctx_words.SHARED: self._shared.ptr,
        }

    def open(self, ctx: int) -> None:
        """Add the team whose ``ctx`` has this device address."""
        self._ctxs.append(ctx)
        self._write()

    def close(self, ctx: int) -> None:
        """Undo ``open``."""
        self._ctxs.remove(ctx)
        self._write()

    def _write(self) -> None:
        words = np.array([len(self._ctxs), *self._ctxs], np.int64)
        _runtime.memcpy(self._shared.ptr + 8, words.ctypes.data, words.nbytes, _runtime.memcpyDefault)
