"""Workspace of a collective: where peers write, and what counts the rounds."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .backend import Backend
from .job import Job
from .settings import setting


@dataclass(frozen=True)
class Lane:
    """Addresses of one lane.  Calls that share a lane must run one after another.

    inbox:   symmetric bytes that peers write;  outbox: symmetric bytes that only this PE writes
    signals: symmetric words, set by peers to epochs;  epochs: words of this PE
    ways:    words of this PE that say which PE sends to which, or 0
    """

    inbox: int
    outbox: int
    signals: int
    epochs: int
    ways: int = 0


def make_lane(
    backend: Backend,
    job: Job,
    inbox_bytes: int,
    outbox_bytes: int,
    signal_words: int,
    epoch_words: int,
    ways: Sequence[int] = (),
) -> Lane:
    """Allocate a lane on every PE, cleared; signals start where epochs do.  Collective."""
    first = setting("PENNYMPI_FIRST_EPOCH")
    inbox = backend.allocate(max(inbox_bytes, 1))
    outbox = backend.allocate(max(outbox_bytes, 1))
    signals = backend.allocate(8 * signal_words)
    backend.zero(inbox, max(inbox_bytes, 1))  # what was in this memory could look like a packet's epoch
    backend.copy_in(signals, np.full(signal_words, first, np.int64))
    epochs = backend.local_words([first] * epoch_words)
    job.rendezvous("set-up of a lane")  # no peer may write before this is cleared
    return Lane(inbox, outbox, signals, epochs, backend.local_words(ways) if ways else 0)
