"""Memory of GPUs: the program's stream, copies on a stream of their own, and memory that another process opens."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ..errors import Unsupported
from ..state import state
from .flat import BYTES, Flat
from .message import is_on_gpu, message_of
from .page import ALLOCATIONS, GPUS, N_ALLOCATIONS, N_GPUS, Location, Page, own_page

_DEFAULT = 4  # cudaMemcpyDefault: the addresses tell where both ends lie
MOST_KNOWN = 1024  # number of addresses whose location is kept


def current_stream() -> Any:
    """CuPy's current stream."""
    import cupy

    return cupy.cuda.get_current_stream()


def mark() -> Any:
    """An event after all work of CuPy's current stream; None if the stream has no work."""
    import cupy

    stream = current_stream()
    if stream.done:
        return None
    event = cupy.cuda.Event(disable_timing=True)
    event.record(stream)
    return event


class Memory(NamedTuple):
    """The place of a message that is contiguous memory of a GPU."""

    address: int
    device: int
    n_bytes: int


def memory_of(spec: Any) -> Memory | None:
    """The memory of an argument; None if it is not contiguous memory of a GPU.  Raises LeftToMPI."""
    cupy = sys.modules.get("cupy")
    if cupy is None:
        return None
    if type(spec) is cupy.ndarray and spec.flags.c_contiguous:
        array = spec  # the usual case
    else:
        message = message_of(spec)
        if not message.element.is_dense or not is_on_gpu(message.buffer):
            return None
        array = Flat(True).source(message)
    return Memory(array.data.ptr, array.data.device_id, array.nbytes) if array.nbytes else None


# Copies --------------------------------------------------------------------------------
def copied_to_host(memory: Memory) -> np.ndarray:
    """The bytes of a message once CuPy's current stream has run."""
    import cupy

    if cupy.cuda.runtime.getDevice() != memory.device:
        with cupy.cuda.Device(memory.device):
            return copied_to_host(memory)
    copy, stream = np.empty(memory.n_bytes, BYTES), current_stream()
    cupy.cuda.runtime.memcpyAsync(copy.ctypes.data, memory.address, memory.n_bytes, _DEFAULT, stream.ptr)
    stream.synchronize()
    return copy


def begin_copy(to: Memory | int, source: int, n_bytes: int, ready: Any = None) -> Callable[[], bool]:
    """Begin a copy, on a stream of its own.  Returns a function that says whether the copy has ended.

    to: memory of a GPU, or an address of the host;  ready: event that the copy waits for, or None
    """
    import cupy

    if isinstance(to, Memory) and cupy.cuda.runtime.getDevice() != to.device:
        with cupy.cuda.Device(to.device):
            return begin_copy(to, source, n_bytes, ready)
    stream, events = _stream_of(cupy.cuda.runtime.getDevice())
    if ready is not None:
        stream.wait_event(ready)
    ended = events.pop() if events else cupy.cuda.Event(disable_timing=True)
    address = to.address if isinstance(to, Memory) else to
    cupy.cuda.runtime.memcpyAsync(address, source, n_bytes, _DEFAULT, stream.ptr)
    ended.record(stream)

    def has_ended() -> bool:
        if not ended.done:
            return False
        events.append(ended)
        return True

    return has_ended


@cache
def _stream_of(device: int) -> tuple[Any, list[Any]]:
    """The stream of a device's copies, which waits for no work of the program, and a list of free events."""
    import cupy

    return cupy.cuda.Stream(non_blocking=True), []


# Memory of this process, for others ----------------------------------------------------
class _Shown(NamedTuple):
    """An allocation.  handle: handle of CUDA, b"" if there is none;  place: index of its number in the page"""

    start: int
    handle: bytes
    place: int


_located: dict[int, Location] = {}  # {address: location}
_shown: dict[int, _Shown] = {}  # {number: allocation}
_free_places = list(range(ALLOCATIONS, ALLOCATIONS + N_ALLOCATIONS))


def locate(address: int) -> Location | None:
    """The location of an address of a GPU; None if other processes can't reach it."""
    world = state.world
    if world and world.segments.by_nvshmem and world.segments.holds(address):
        return Location(0, address - world.segments.base, 0, world.group.rank)
    location = _located.get(address)
    if location and _number_of(address) == location.number:
        return location
    location = _locate(address)
    if location:
        if len(_located) > MOST_KNOWN:
            _located.clear()
        _located[address] = location
    return location


def _locate(address: int) -> Location | None:
    from cuda.bindings import driver

    status, start, _ = driver.cuMemGetAddressRange(address)
    number = 0 if status else _number_of(int(start))
    if not number:
        return None
    start = int(start)
    shown = _shown.get(number) or _show(start, number)
    return Location(start, address - start, number, -1, shown.handle) if shown and shown.handle else None


def _number_of(address: int) -> int:
    """The number of the allocation at an address; 0 for memory that has been freed."""
    read, attribute = _attribute_reader()
    status, number = read(attribute, address)
    return 0 if status else int(number)


@cache
def _attribute_reader() -> Any:
    from cuda.bindings import driver

    return driver.cuPointerGetAttribute, driver.CUpointer_attribute.CU_POINTER_ATTRIBUTE_BUFFER_ID


def _show(start: int, number: int) -> _Shown | None:
    """Write an allocation's number into this process's page; None if there is no room.

    The numbers of freed allocations are erased first: a process that has opened such an allocation then closes it.
    """
    import cupy

    for old_number, old in list(_shown.items()):
        if _number_of(old.start) != old_number:
            del _shown[old_number]
            if old.place:
                own_page().words[old.place] = 0
                _free_places.append(old.place)
    try:
        handle = bytes(cupy.cuda.runtime.ipcGetMemHandle(start))
    except cupy.cuda.runtime.CUDARuntimeError:  # managed memory, or memory of a pool of CUDA
        handle = b""
    if handle and not _free_places:
        return None
    shown = _shown[number] = _Shown(start, handle, _free_places.pop() if handle else 0)
    if handle:
        own_page().words[shown.place] = number
    return shown


@cache
def number_of_gpu(device: int) -> int:
    """The number of a device, which is the same in all processes of the machine."""
    import cupy

    return int.from_bytes(cupy.cuda.runtime.getDeviceProperties(device)["uuid"][:8], "little", signed=True)


@cache
def show_reach() -> None:
    """Write into this process's page the numbers of the GPUs whose memory all its devices reach."""
    import cupy

    runtime = cupy.cuda.runtime
    devices = range(runtime.getDeviceCount())
    reached = [
        number_of_gpu(device)
        for device in devices
        if all(peer == device or runtime.deviceCanAccessPeer(peer, device) for peer in devices)
    ]
    for k, gpu in enumerate(reached[:N_GPUS]):
        own_page().words[GPUS + k] = gpu


# Memory of another process -------------------------------------------------------------
_opened: dict[tuple[str, int], int] = {}  # {(path of a page, number of an allocation): address in this process}


def address_of(location: Location, page: Page) -> int:
    """The address in this process of a location in another process.  Raises Unsupported."""
    import cupy

    if location.pe >= 0 and state.world:
        segments = state.world.segments
        return int(segments.base + location.offset + (segments.peer_offsets[location.pe] or 0))
    if page is own_page():
        return location.start + location.offset
    key = page.card.path, location.number
    if key not in _opened:
        shown = page.words[ALLOCATIONS : ALLOCATIONS + N_ALLOCATIONS]
        for path, number in list(_opened):
            if path == page.card.path and number not in shown:
                cupy.cuda.runtime.ipcCloseMemHandle(_opened.pop((path, number)))
        try:
            _opened[key] = int(cupy.cuda.runtime.ipcOpenMemHandle(location.handle))
        except cupy.cuda.runtime.CUDARuntimeError as error:
            raise Unsupported(
                f"process {page.card.process.pid}'s memory on its GPU can't be opened here ({error}): give every rank "
                "all GPUs of its node, or pass arrays of the host"
            ) from None
    return _opened[key] + location.offset
