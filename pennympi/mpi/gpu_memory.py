"""Memory of GPUs, as another process of the node finds it."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from ..errors import Unsupported
from ..state import state
from .mailbox import ALLOCATIONS, GPUS, N_ALLOCATIONS, N_GPUS, Page, own_page

MOST_KNOWN = 1024  # addresses whose location is kept


class Location(NamedTuple):
    """Where bytes lie.

    start:  of the allocation, in its process;  offset: of the bytes in it, or in the symmetric heap
    number: of the allocation, which no later one of the process has
    pe:     the PE of the heap, -1: they are not in it;  handle: CUDA's for other processes
    """

    start: int
    offset: int
    number: int
    pe: int
    handle: bytes = b""


def locate(address: int) -> Location | None:
    """Where an address of a GPU lies; None where other processes can't reach it."""
    world = state.world
    if world and world.segments.by_nvshmem and world.segments.holds(address):
        return Location(0, address - world.segments.base, 0, world.group.rank)
    known = _located.get(address)
    if known and _number_of(address) == known.number:
        return known
    location = _locate(address)
    if location:
        if len(_located) > MOST_KNOWN:
            _located.clear()
        _located[address] = location
    return location


def _locate(address: int) -> Location | None:
    import cupy
    from cuda.bindings import driver

    status, start, _ = driver.cuMemGetAddressRange(address)
    if status:
        return None
    start, number = int(start), _number_of(address)
    if _shown.get(start, (0, b""))[0] != number:
        _forget_freed()
        try:
            handle = bytes(cupy.cuda.runtime.ipcGetMemHandle(start))
        except cupy.cuda.runtime.CUDARuntimeError:  # managed, or of a pool of CUDA's
            handle = b""
        _shown[start] = number, handle
    handle = _shown[start][1]
    return Location(start, address - start, number, -1, handle) if handle and _show(number) else None


_located: dict[int, Location] = {}  # by address
_shown: dict[int, tuple[int, bytes]] = {}  # by start: number, handle
_places: dict[int, int] = {}  # by number: where it stands in the page
_free_places = list(range(ALLOCATIONS, ALLOCATIONS + N_ALLOCATIONS))


def _number_of(address: int) -> int:
    """The number of the allocation at an address; 0 of memory that has been freed."""
    read, which = _attribute_reader()
    status, number = read(which, address)
    return 0 if status else int(number)


@cache
def _attribute_reader() -> Any:
    from cuda.bindings import driver

    return driver.cuPointerGetAttribute, driver.CUpointer_attribute.CU_POINTER_ATTRIBUTE_BUFFER_ID


def _forget_freed() -> None:
    """What was freed is shown no longer: those who have opened it close it."""
    for start, (number, _) in list(_shown.items()):
        if _number_of(start) != number:
            del _shown[start]
            if place := _places.pop(number, 0):
                own_page().words[place] = 0
                _free_places.append(place)


def _show(number: int) -> bool:
    """Write an allocation's number into this process's page; False if there is no room."""
    if number not in _places:
        if not _free_places:
            return False
        _places[number] = _free_places.pop()
        own_page().words[_places[number]] = number
    return True


def here(location: Location, page: Page) -> int:
    """The address in this process of what another one has located.  Raises Unsupported."""
    if location.pe >= 0 and state.world:
        segments = state.world.segments
        return int(segments.base + location.offset + (segments.peer_offsets[location.pe] or 0))
    if page is own_page():
        return location.start + location.offset
    key = page.card.path, location.number
    if key not in _opened:
        _close_freed(page)
        _opened[key] = _open(location, page)
    return _opened[key] + location.offset


_opened: dict[tuple[str, int], int] = {}  # by page and number: the address here


def _open(location: Location, page: Page) -> int:
    import cupy

    try:
        return int(cupy.cuda.runtime.ipcOpenMemHandle(location.handle))
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise Unsupported(
            f"process {page.card.process.pid}'s memory on its GPU can't be opened here ({error}): give every rank all "
            "GPUs of its node, or pass arrays of the host"
        ) from None


def _close_freed(page: Page) -> None:
    import cupy

    shown = page.words[ALLOCATIONS : ALLOCATIONS + N_ALLOCATIONS]
    for path, number in list(_opened):
        if path == page.card.path and number not in shown:
            cupy.cuda.runtime.ipcCloseMemHandle(_opened.pop((path, number)))


@cache
def number_of_gpu(device: int) -> int:
    """Of a device, the same in all processes of the machine."""
    import cupy

    return int.from_bytes(cupy.cuda.runtime.getDeviceProperties(device)["uuid"][:8], "little", signed=True)


@cache
def show_reach() -> None:
    """Write the GPUs whose memory all devices of this process reach into its page."""
    import cupy

    runtime = cupy.cuda.runtime
    devices = range(runtime.getDeviceCount())
    reached = [
        number_of_gpu(device)
        for device in devices
        if all(one == device or runtime.deviceCanAccessPeer(one, device) for one in devices)
    ]
    for k, gpu in enumerate(reached[:N_GPUS]):
        own_page().words[GPUS + k] = gpu
