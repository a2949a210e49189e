"""Allocations on GPUs: those of this process that others may open, and those of others that this process has opened."""

from __future__ import annotations

from functools import cache
from threading import Lock
from typing import Any, NamedTuple

from ..errors import Unsupported
from ..state import state
from .page import ALLOCATIONS, GPUS, LOCATION, N_ALLOCATIONS, N_GPUS, Location, Page, own_page

MOST_KNOWN = 1024  # number of addresses whose location is kept


class _Shown(NamedTuple):
    """An allocation of this process.  place: number of its handle in the page; -1 if it has no handle"""

    start: int
    place: int


_located: dict[int, Location] = {}  # {address: location}
_shown: dict[int, _Shown] = {}  # {number: allocation}
_free_places = list(range(N_ALLOCATIONS))
_showing = Lock()


def locate(address: int, page: Page) -> Location | None:
    """The location of an address of a GPU; None if the process of a page can't reach it."""
    world = state.world
    if world and world.segments.by_nvshmem and world.segments.holds(address):
        pe = world.pe_of.get(page.card.process)
        if pe is None or world.segments.peer_offsets[pe] is None:
            return None
        return Location(address - world.segments.base, 0, 0, world.group.rank)
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
    with _showing:
        shown = _shown.get(number) or _show(int(start), number)
    return Location(address - shown.start, number, shown.place, -1) if shown and shown.place >= 0 else None


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
    """Write an allocation's number and handle into this process's page; None if there is no room.

    The numbers of freed allocations are erased first: a process that has opened such an allocation then closes it.
    """
    import cupy

    words = own_page().words
    for old_number, old in list(_shown.items()):
        if _number_of(old.start) != old_number:
            del _shown[old_number]
            if old.place >= 0:
                words[ALLOCATIONS + old.place] = 0
                _free_places.append(old.place)
    try:
        handle = memoryview(bytes(cupy.cuda.runtime.ipcGetMemHandle(start))).cast("q")
    except cupy.cuda.runtime.CUDARuntimeError:  # managed memory, or memory of a pool of CUDA
        _shown[number] = _Shown(start, -1)
        return _shown[number]
    if not _free_places:
        return None
    place = _free_places.pop()
    own_page().handle(place)[:] = handle
    words[ALLOCATIONS + place] = number
    _shown[number] = _Shown(start, place)
    return _shown[number]


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


def address_of(slot: memoryview, page: Page) -> int:
    """The address in this process of the message of a slot in a page.  Raises Unsupported."""
    offset, number, place, pe = slot[LOCATION:]
    if pe >= 0:
        segments = state.world.segments
        return int(segments.base + offset + segments.peer_offsets[pe])
    if page is own_page():
        return _shown[number].start + offset
    return (page.opened.get(number) or _open(number, place, page)) + offset


def _open(number: int, place: int, page: Page) -> int:
    """Open an allocation, and close those that its process has freed.  Raises Unsupported."""
    import cupy

    runtime = cupy.cuda.runtime
    shown = page.words[ALLOCATIONS : ALLOCATIONS + N_ALLOCATIONS]
    for old_number in page.opened.keys() - set(shown):
        runtime.ipcCloseMemHandle(page.opened.pop(old_number))
    if shown[place] != number:
        raise Unsupported(
            f"process {page.card.process.pid} freed an array before its message had arrived: keep the array"
        )
    try:
        page.opened[number] = int(runtime.ipcOpenMemHandle(page.handle(place).tobytes()))
    except runtime.CUDARuntimeError as error:
        raise Unsupported(
            f"process {page.card.process.pid}'s memory on its GPU can't be opened here ({error}): give every rank all "
            "GPUs of its node, or pass arrays of the host"
        ) from None
    return page.opened[number]
