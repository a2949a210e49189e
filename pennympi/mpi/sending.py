"""A message of an array that may lie on a GPU.

What travels by MPI, in the order and with the tag of the message, is the message itself, or an envelope.  Then the
receiver copies from this process's memory, and writes its answer into the slot.  A message goes itself where it is small,
where other processes can't reach its memory, and to a process that has not said that it takes envelopes (receiving.py).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from mpi4py import MPI

from ..errors import Unsupported
from ..units import size_text
from . import mailbox
from .agreement import agreement_of
from .deadline import Overdue
from .envelope import MOST_BYTES, Envelope
from .flat import Flat
from .gpu_copies import current_stream, memory_of
from .gpu_memory import locate, number_of_gpu
from .log import log_way
from .mailbox import FAILED, SENT, STATE, own_page
from .message import is_on_gpu, message_of
from .transfer import Result, Steps, Transfer

Begin = Callable[..., MPI.Request]


def begin_send(begin: Begin, comm: Any, spec: Any, dest: int, tag: int) -> Transfer:
    """Begin a message.  begin: MPI's own non-blocking call of its mode.  Raises LeftToMPI."""
    memory, page = memory_of(spec), agreement_of(comm).page(dest)
    slot = location = None
    if memory and memory.n_bytes > MOST_BYTES and dest != MPI.PROC_NULL:
        location = locate(memory.address)
        if page is None or location is None:
            _warn_of_host(memory.n_bytes, page is None)
        elif page.takes_from(number_of_gpu(memory.device)):
            slot = mailbox.take_slot(memory.n_bytes, tag, page.card.process.pid)
    sent: Any = spec
    if memory and location and slot is not None:
        current_stream().synchronize()
        sent = Envelope(memory.n_bytes, location, slot).packed()
    elif memory or is_on_gpu(spec):
        sent = Flat(False).source(message_of(spec))
    request = begin(comm, sent if sent is spec else [sent, MPI.BYTE], dest, tag)
    n_bytes = memory.n_bytes if memory else message_of(spec).n_bytes
    what = f"a message of {n_bytes} bytes to rank {dest} with tag {tag}"
    log_way(comm, what, "MPI" if slot is None else "a copy from GPU to GPU")
    overdue = Overdue(comm, dest, page, what)
    return Transfer(_sending(request, slot, (spec, sent)), overdue)


def _sending(request: MPI.Request, slot: int | None, buffers: Any) -> Steps:
    """buffers: what must live until the message has gone"""
    while not request.Test():
        yield
    if slot is None:
        return Result()
    words = own_page().slot(slot)
    while words[STATE] == SENT:
        yield
    failed = words[STATE] == FAILED
    mailbox.release_slot(slot)
    if failed:
        raise Unsupported("the receiver of a message can't open this process's memory on its GPU: see its own error")
    return Result()


def _warn_of_host(n_bytes: int, is_far: bool) -> None:
    reason = "its rank is on another node, or there was no collective of this communicator yet"
    if not is_far:
        reason = "other processes can't reach its memory: allocate it by cudaMalloc, as CuPy does, or team.empty"
    warnings.warn(f"a message of {size_text(n_bytes)} on a GPU goes through memory of the host: {reason}", stacklevel=6)
