"""The exceptions of the library.  Every message names the remedy."""

from .kernels.block import POISON

INTERRUPTED = -1  # what a wait has found that the watch has ended, after Ctrl-C


class PennympiError(Exception):
    """Base class of the library's errors, except TypeError and ValueError for wrong arguments."""


class NotInitialized(PennympiError):
    """The team is finalized."""


class Unsupported(PennympiError):
    """The arguments are right, but this backend, machine or team cannot do it.  reason: why, and what is possible"""

    def __init__(self, reason: str):
        super().__init__(reason)
        self.reason = reason


class SymmetricHeapExhausted(PennympiError, MemoryError):
    """The symmetric heap has no room for a request.  requested_bytes, free_bytes: on one PE"""

    def __init__(self, requested_bytes: int, free_bytes: int, remedy: str):
        super().__init__(
            f"the symmetric heap cannot give {requested_bytes} bytes on every PE: {free_bytes} are free; {remedy}"
        )
        self.requested_bytes = requested_bytes
        self.free_bytes = free_bytes


class CollectiveMismatchError(PennympiError):
    """The PEs of a team made different calls, or one call with different arguments (see PENNYMPI_DEBUG)."""


class TopologyError(PennympiError, ValueError):
    """The layout of PENNYMPI_TOPOLOGY or ``init(topology=...)`` cannot be read, or does not fit the team."""


class PeerTimeout(PennympiError):
    """A PE waited for another one, which showed no sign of life for PENNYMPI_TIMEOUT_S.

    me:         the PE that waited;  peer: the PE that it waited for (-1: not known)
    collective: the call that it was in
    epoch:      the epoch that it waited for (-1: none);  found: the epoch that it saw last
    timeout_s:  the deadline
    """

    def __init__(
        self,
        me: int,
        peer: int,
        collective: str,
        epoch: int = -1,
        found: int = -1,
        timeout_s: float = 0.0,
        detail: str = "",
    ):
        whom = f"PE {peer}" if peer >= 0 else "a peer"
        text = f"PE {me} waited {timeout_s:g} s for {whom} in {collective}"
        if epoch >= 0:
            text += f", epoch {epoch} (last seen: {found})"
        text += detail or ": is that PE alive, and did it make the same call?"
        super().__init__(text + " The deadline is PENNYMPI_TIMEOUT_S.")
        self.me, self.peer, self.collective, self.epoch, self.found = me, peer, collective, epoch, found
        self.timeout_s = timeout_s


class PeerGaveUp(PeerTimeout):
    """A PE waited for another one that had given up a wait of its own, so that what it sent is garbage."""

    def __init__(self, me: int, peer: int, collective: str, epoch: int = -1, timeout_s: float = 0.0):
        super().__init__(me, peer, collective, epoch, timeout_s=timeout_s)
        whom = f"PE {peer}" if peer >= 0 else "a peer"
        self.args = (
            f"PE {me} stopped in {collective}, epoch {epoch}: {whom} had given up before, and what it sent is "
            "garbage.  The message of that PE says which PE it had waited for.",
        )


def recorded_timeout(me: int, peer: int, collective: str, epoch: int, found: int, timeout_s: float) -> PeerTimeout:
    """The error for the record that a kernel wrote when it gave up (see ``compile/context.py``)."""
    if found >= POISON:
        return PeerGaveUp(me, peer, collective, epoch, timeout_s)
    if found == INTERRUPTED:
        error = PeerTimeout(me, peer, collective, epoch, found, timeout_s)
        error.args = (f"PE {me} was interrupted while it waited in {collective}: this team makes no more calls.",)
        return error
    return PeerTimeout(me, peer, collective, epoch, found, timeout_s)
