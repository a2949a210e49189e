"""Signs of life (liveness.py) of PEs for waits in the kernels of a device."""

from typing import Any

from . import liveness
from .control import Control


class DeviceLiveness:
    """Copies signs of life between the node's table and words that the kernels of a device read.

    words: (1 + n_pes,) int64.  Word 0 is 2 + the PE that a kernel waits for (1: an unknown PE), or 0.  Word 1 + pe is the
           time in ns for which ``pe`` has been silent (NEVER_NS before its first sign).
    """

    def __init__(self, control: Control, words: Any):
        self._control, self._words, self._calls = control, words, -1
        words[:] = liveness.NEVER_NS
        words[0] = words[[1 + pe for pe in control.pes]] = 0

    def update(self, calls: int, now_ns: int) -> None:
        """Update the words; called every 0.1 s.  calls: a number that grows with every call of this PE"""
        if calls != self._calls:
            self._calls = calls
            liveness.show_alive(now_ns)
        waits = int(self._words[0])
        if waits:
            self._words[0] = 0  # a kernel that still waits writes it again
            self._control.show_waiting(waits - 2)
        if waits > 1:
            liveness.show_alive(self._control.last_alive_ns(waits - 2))
        resumed_ns = int(liveness.monitor_words[liveness.RESUMED_NS])
        for pe in range(len(self._control.processes)):
            if alive_ns := self._control.last_alive_ns(pe):
                self._words[1 + pe] = now_ns - max(resumed_ns, alive_ns)
