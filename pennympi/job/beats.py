"""Signs of life between nodes: the first PE of each node sends those of the others how long its PEs have been silent.

A thread does it twice a second, with MPI, while the main thread computes or compiles.  What it hears goes into the table
of the node (control.py), so that a wait finds the signs of all PEs in one place.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from typing import Any

import numpy as np
from mpi4py import MPI

from .control import Control

BEAT_S = 0.5
LOOKS = 10  # at what comes, in that time: a sign that lies unread looks younger than it is
TAG = 32700  # beside those of rendezvous.py
LAST = -1  # in place of a time: no sign follows


class Beats:
    """The signs of one job, sent from now on.  Only made by the first PE of a node."""

    def __init__(self, comm: MPI.Intracomm, control: Control):
        self._comm, self._control = comm, control
        nodes = [process.node for process in control.processes]
        others = [pe for pe, node in enumerate(nodes) if nodes.index(node) == pe and pe != control.me]
        self._pes_of = {first: [pe for pe, node in enumerate(nodes) if node == nodes[first]] for first in others}
        self._came = {first: np.zeros(len(pes), np.int64) for first, pes in self._pes_of.items()}
        self._receives = {first: comm.Irecv(words, first, TAG) for first, words in self._came.items()}
        self._sends = dict.fromkeys(others, MPI.REQUEST_NULL)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="pennympi beats", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        for look in count(1):
            if self._ended.wait(BEAT_S / LOOKS):
                return
            with suppress(MPI.Exception):  # the node is gone: the waits for its PEs raise PeerTimeout
                self._hear()
                if look % LOOKS == 0:
                    self._send()

    def _hear(self) -> None:
        """Receive what the others send."""
        for first, came in self._came.items():
            while first in self._receives and self._receives[first].Test():
                if came[0] == LAST:
                    del self._receives[first]
                    break
                now_ns = time.monotonic_ns()
                for pe, silent_ns in zip(self._pes_of[first], came, strict=True):
                    self._control.hear(pe, now_ns - int(silent_ns))
                self._receives[first] = self._comm.Irecv(came, first, TAG)

    def _send(self) -> None:
        """Send the others how long the PEs of this node have been silent."""
        control, now_ns = self._control, time.monotonic_ns()
        silent_ns = np.array([now_ns - control.last_alive_ns(pe) for pe in control.pes])
        for first, sent in self._sends.items():
            if sent.Test():  # else that node takes nothing now
                self._sends[first] = self._comm.Isend(silent_ns, first, TAG)

    def close(self, wait: Callable[..., Any]) -> None:
        """End after the last sign of each node: MPI may give the communicator's number to the program's next one.

        wait: ``Meetings.wait``
        """
        self._ended.set()
        self._thread.join()
        last = np.full(1, LAST)
        sends = [*self._sends.values(), *(self._comm.Isend(last, first, TAG) for first in self._sends)]

        def ended() -> bool:
            self._hear()
            return not self._receives and MPI.Request.Testall(sends)

        wait(ended, lambda: list(self._receives), "finalize")

    def cancel(self) -> None:
        """Send and receive nothing more, before MPI ends; a second call does nothing."""
        self._ended.set()
        self._thread.join()
        while self._receives:
            _, request = self._receives.popitem()
            request.Cancel()
            request.Wait()
