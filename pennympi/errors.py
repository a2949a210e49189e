"""The exceptions of the library.  Every message names the remedy."""

from collections.abc import Callable
from typing import NamedTuple

from .kernels.block import DIFFERS, EPOCH_BITS, POISON, SENDS
from .units import size_text


class PennympiError(Exception):
    """Base class of the library's errors, except TypeError and ValueError for wrong arguments."""


class NotInitialized(PennympiError):
    """The team was finalized, or has ended for another reason."""


class TwoThreads(PennympiError):
    """Two threads call a team at the same time.  They may call it one after the other, in the same order on every PE."""


class Unsupported(PennympiError):
    """The arguments are right, but this backend, machine or team cannot do it."""


class SymmetricHeapExhausted(PennympiError, MemoryError):
    """The symmetric heap has no room for a request.  requested_bytes, free_bytes: on each PE"""

    def __init__(self, requested_bytes: int, free_bytes: int, remedy: str):
        requested, free = size_text(requested_bytes), size_text(free_bytes)
        if requested == free:  # the rounded texts are equal
            requested, free = f"{requested_bytes} bytes", f"{free_bytes} bytes"
        super().__init__(f"the symmetric heap cannot give {requested} on every PE: {free} are free; {remedy}")
        self.requested_bytes = requested_bytes
        self.free_bytes = free_bytes


class CollectiveMismatchError(PennympiError):
    """The PEs of a team made different calls, or the same call with different arguments.

    With PENNYMPI_DEBUG=1 nothing has been sent; else a PE that waited has received another call's message.
    """


class KernelError(PennympiError, TypeError):
    """The text of a kernel or formula has a mistake.  The message begins with the file and line."""


class OutOfBounds(PennympiError, IndexError):
    """A checked kernel has left the arrays of its launch (``Team.kernel``), or named a PE that the team does not have."""


class CountError(PennympiError, ValueError):
    """A part is not inside the array, because of a count or displacement that lies on the device."""


class TopologyError(PennympiError, ValueError):
    """The layout of PENNYMPI_TOPOLOGY or ``init(topology=...)`` cannot be read, or does not fit the team."""


class PeerTimeout(PennympiError):
    """A PE waited for a PE that showed no sign of life for PENNYMPI_TIMEOUT_S.

    me:         the PE that waited;  peer: the PE that it waited for (-1: unknown), with its host in the message
    collective: name of the call
    epoch:      the awaited epoch (-1: none);  found: the last epoch that was received
    timeout_s:  the deadline in seconds
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
        on_host: str = "",
    ):
        seen = f", epoch {epoch} (last seen: {found})" if epoch >= 0 else ""
        detail = detail or ": is that PE alive, and did it make the same call?"
        super().__init__(
            f"PE {me} waited {timeout_s:g} s for {_name_of(peer, on_host)} in {collective}{seen}{detail} "
            "The deadline is PENNYMPI_TIMEOUT_S."
        )
        self.me, self.peer, self.collective, self.epoch, self.found = me, peer, collective, epoch, found
        self.timeout_s = timeout_s


class PeerGaveUp(PeerTimeout):
    """A PE waited for a PE that had given up a wait itself, so that the received data is garbage."""

    def __init__(self, me: int, peer: int, collective: str, epoch: int = -1, timeout_s: float = 0.0, on_host: str = ""):
        super().__init__(me, peer, collective, epoch, timeout_s=timeout_s)
        number = f", epoch {epoch}" if epoch >= 0 else ""
        self.args = (
            f"PE {me} stopped in {collective}{number}: {_name_of(peer, on_host)} had given up before, and what it sent "
            "is garbage.  The message of that PE says which PE it had waited for.",
        )


def _name_of(peer: int, on_host: str) -> str:
    return f"PE {peer}{on_host}" if peer >= 0 else "a peer"


_EPOCH = (1 << EPOCH_BITS) - 1
Find = Callable[[int, int], str | None]  # (PE, tag) -> text of the PE's call; None: not known on this node


INTERRUPTED = 255  # a value of ``refused``: a signal handler has ended the wait


class Record(NamedTuple):
    """The record of a wait that gave up (``compile/context.py``).

    me, source: the PE that waited, and the PE that it waited for;  name: name of its kernel
    epoch:      the awaited word;  found: the last word that was read
    tagged:     both words hold a round's number and a call's tag
    refused:    why the PE refused a count (``kernels.block.refuse_count``); 0: it did not; else both words are counts
    """

    me: int
    source: int
    name: str
    epoch: int
    found: int
    tagged: bool
    refused: int = 0


def recorded_failure(
    record: Record, timeout_s: float, find: Find, on_host: Callable[[int], str] = lambda pe: ""
) -> PennympiError:
    """The error for the record of a kernel that gave up.  on_host: names a PE's host, as ``Control.on_host``"""
    me, source, name, epoch, found, tagged, refused = record
    if refused == INTERRUPTED:
        waited = f"PE {me} while it waited for {_name_of(source, on_host(source))} in {name}"
        return NotInitialized(f"the team has ended: a signal interrupted {waited}")
    if refused:
        return _refusal(record)
    if tagged and found < POISON and found != epoch and (found - epoch) & _EPOCH == 0:
        own_call, sent_call = (find(pe, word >> EPOCH_BITS) for pe, word in ((me, epoch), (source, found)))
        calls = f"PE {me} is in {own_call or name}; PE {source} sent for {sent_call or 'another call'}"
        return CollectiveMismatchError(f"{calls}: every PE must make the same calls in the same order")
    if tagged:
        epoch = _round(epoch)
    if found >= POISON:
        return PeerGaveUp(me, source, name, epoch, timeout_s, on_host(source))
    found = _round(found) if tagged else found
    return PeerTimeout(me, source, name, epoch, found, timeout_s, on_host=on_host(source))


def _round(word: int) -> int:
    """The number of the round in a tagged word; negative before the first round."""
    number = word & _EPOCH
    return number - (_EPOCH + 1) if number >> (EPOCH_BITS - 1) else number


def _refusal(record: Record) -> PennympiError:
    """The error for a count that a kernel refused."""
    me, pe, name, wanted, found, _, why = record
    if why == DIFFERS:
        return CollectiveMismatchError(
            f"in {name} PE {pe} sends {found} elements to PE {me}, but PE {me} expects {wanted}: make PE {pe}'s count "
            f"for PE {me} equal to PE {me}'s count for PE {pe}"
        )
    array = "x" if why == SENDS else "out"
    return CountError(
        f"in {name} part {pe} of {array} of PE {me} has {found} elements from element {wanted} on, by the counts and "
        f"displacements on the device, and that is not inside {array}: give those of parts inside it, or a larger array"
    )
