"""What the library raises.  Every message names the remedy."""

from .kernels.block import POISON


class PennympiError(Exception):
    """Base of all errors of this library that are not a wrong argument."""


class NotInitialized(PennympiError):
    """The team is finalized, or was never made."""


class Unsupported(PennympiError):
    """Right in form, but not possible here; ``reason`` says why and what is."""

    def __init__(self, reason: str):
        super().__init__(reason)
        self.reason = reason


class SymmetricHeapExhausted(PennympiError, MemoryError):
    """The symmetric heap has no room for a request."""

    def __init__(self, requested_bytes: int, free_bytes: int, remedy: str):
        super().__init__(
            f"the symmetric heap cannot give {requested_bytes} bytes on every PE: {free_bytes} are free; {remedy}"
        )
        self.requested_bytes = requested_bytes
        self.free_bytes = free_bytes


class CollectiveMismatchError(PennympiError):
    """The PEs of a team called different collectives, or the same with other arguments."""


class TopologyError(PennympiError, ValueError):
    """The nodes that PENNYMPI_TOPOLOGY or ``init(topology=...)`` lays do not fit, or cannot be read."""


class PeerTimeout(PennympiError):
    """A wait passed its deadline: ``PENNYMPI_TIMEOUT_S`` without a sign of life of the PE that was waited for.

    me:         the PE that waited
    peer:       the PE that it waited for (-1: not known)
    collective: what it was in
    epoch:      the epoch that it waited for (-1: none); ``found`` is what it saw
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
    """The PE that was waited for had given up a wait of its own, so that what it sent is worthless."""

    def __init__(self, me: int, peer: int, collective: str, epoch: int = -1, timeout_s: float = 0.0):
        super().__init__(me, peer, collective, epoch, timeout_s=timeout_s)
        whom = f"PE {peer}" if peer >= 0 else "a peer"
        self.args = (
            f"PE {me} stopped in {collective}, epoch {epoch}: {whom} had given up before it, and what it sent is "
            "worthless.  That PE's own message says for whom it had waited.",
        )


def timeout_of(me: int, peer: int, collective: str, epoch: int, found: int, timeout_s: float) -> PeerTimeout:
    """The error that a record tells of (``here.py``)."""
    if found >= POISON:
        return PeerGaveUp(me, peer, collective, epoch, timeout_s)
    return PeerTimeout(me, peer, collective, epoch, found, timeout_s)
