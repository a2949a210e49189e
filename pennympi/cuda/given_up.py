"""What all teams of a process share about a wait that gave up.

A kernel of another team may be queued behind the one that waited, and its input be what that one left: so all teams'
``ctx`` say that this PE gave up, one abort word ends all their waits, and every team's next call raises.
"""

from __future__ import annotations

import cupy
import numpy as np

from ..compile import context as ctx_words

MOST_TEAMS = 4096
_runtime = cupy.cuda.runtime


class GivenUp:
    """abort: a word, not 0 once a wait has given up;  record: of the first one;  call_names: of the calls' numbers"""

    def __init__(self) -> None:
        n_words = 1 + ctx_words.RECORD_WORDS
        self._pinned = cupy.cuda.alloc_pinned_memory(8 * n_words)
        words = np.frombuffer(self._pinned, np.int64, n_words)
        words[:] = 0
        self.abort = memoryview(words.data)[:1]  # a memoryview is read faster than an array
        self.record = words[1:]
        self.call_names: dict[int, str] = {}
        self._heres: list[int] = []
        self._shared = cupy.cuda.alloc(8 * (2 + MOST_TEAMS))  # taken, number of teams, their ``ctx``s
        _runtime.memset(self._shared.ptr, 0, 16)

    def words(self) -> dict[int, int]:
        """What a ``ctx`` holds of it."""
        return {
            ctx_words.ABORT: self._pinned.ptr,
            ctx_words.RECORD: self._pinned.ptr + 8,
            ctx_words.SHARED: self._shared.ptr,
        }

    def open(self, ctx: int) -> None:
        """A team of this process has its ``ctx`` at this device address."""
        self._heres.append(ctx)
        self._write()

    def close(self, ctx: int) -> None:
        """Undo ``open``."""
        self._heres.remove(ctx)
        self._write()

    def _write(self) -> None:
        words = np.array([len(self._heres), *self._heres], np.int64)
        _runtime.memcpy(self._shared.ptr + 8, words.ctypes.data, words.nbytes, _runtime.memcpyDefault)


_of_process: list[GivenUp] = []


def given_up() -> GivenUp:
    """The one of this process; made by its first team, on that one's device."""
    if not _of_process:
        _of_process.append(GivenUp())
    return _of_process[0]
