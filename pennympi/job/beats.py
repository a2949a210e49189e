"""Signs of life between nodes: the first PE of each node tells those of other nodes how long its PEs have been silent.

A thread sends them twice a second by MPI, while the main thread computes or compiles.  Received signs go into the table
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

BEAT_S = 0.5  # time between two signs
LOOKS = 10  # tests for received signs in that time, since a sign that waits unread seems newer than it is
TAG = 32700  # not a tag of rendezvous.py
LAST = -1  # in place of a time: no further sign follows


class Beats:
    """The signs of a job.  Only the first PE of a node makes this object; its thread starts at once."""

    def __init__(self, comm: MPI.Intracomm, control: Control):
        self._comm, self._control = comm, control
        nodes = [process.node for process in control.processes]
        peers = [pe for pe, node in enumerate(nodes) if nodes.index(node) == pe and pe != control.me]
        self._pes_of = {first: [pe for pe, node in enumerate(nodes) if node == nodes[first]] for first in peers}
        self._received = {first: np.zeros(len(pes), np.int64) for first, pes in self._pes_of.items()}
        self._receives = {first: comm.Irecv(words, first, TAG) for first, words in self._received.items()}
        self._sends = dict.fromkeys(peers, MPI.REQUEST_NULL)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="pennympi beats", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        for look in count(1):
            if self._ended.wait(BEAT_S / LOOKS):
                return
            with suppress(MPI.Exception):  # a node has ended: waits for its PEs raise PeerTimeout
                self._receive()
                if look % LOOKS == 0:
                    self._send()

    def _receive(self) -> None:
        """Receive the signs that have arrived."""
        for first, received in self._received.items():
            while first in self._receives and self._receives[first].Test():
                if received[0] == LAST:
                    del self._receives[first]
                    break
                now_ns = time.monotonic_ns()
                for pe, silent_ns in zip(self._pes_of[first], received, strict=True):
                    self._control.note_alive(pe, now_ns - int(silent_ns))
                self._receives[first] = self._comm.Irecv(received, first, TAG)

    def _send(self) -> None:
        """Send the first PEs of other nodes how long the PEs of this node have been silent."""
        control, now_ns = self._control, time.monotonic_ns()
        silent_ns = np.array([now_ns - control.last_alive_ns(pe) for pe in control.pes])
        for first, sent in self._sends.items():
            if sent.Test():  # else the node has not received the previous sign
                self._sends[first] = self._comm.Isend(silent_ns, first, TAG)

    def close(self, wait: Callable[..., Any]) -> None:
        """End after the last sign of each node, since MPI may give the communicator's number to a later communicator.

        wait: ``Meetings.wait``
        """
        self._ended.set()
        self._thread.join()
        last = np.full(1, LAST)
        sends = [*self._sends.values(), *(self._comm.Isend(last, first, TAG) for first in self._sends)]

        def ended() -> bool:
            self._receive()
            return not self._receives and MPI.Request.Testall(sends)

        wait(ended, lambda: list(self._receives), "finalize")

    def cancel(self) -> None:
        """End the thread and cancel the receives, before MPI ends; a second call does nothing."""
        self._ended.set()
        self._thread.join()
        while self._receives:
            _, request = self._receives.popitem()
            request.Cancel()
            request.Wait()
