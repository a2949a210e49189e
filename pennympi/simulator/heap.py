"""Memory of a team on a simulated PE."""

from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np
from greenlet import getcurrent
from numpy.lib.stride_tricks import as_strided

from ..arrays.array_view import ArrayView
from ..arrays.dtypes import TABLE, DType
from ..errors import SymmetricHeapExhausted
from ..host.runtime import arrays
from .clocks import Clock, merged
from .device import Machine, Program
from .job import Group
from .memory import PEER, SCRIBBLE
from .shadow import READ
from .streams import Streams
from .team_array import TeamArray, plain

BYTE = TABLE["uint8"]
WORD_BYTES = 8


class Heap:
    """See ``pennympi.backend.Heap``.  Addresses are those of the machine's memory, or those of this process."""

    def __init__(self, machine: Machine, pe: int, group: Group, streams: Streams):
        self._machine, self._memory, self._pe = machine, machine.memory, pe
        self._group, self._streams, self._allocated = group, streams, 0
        self._starts = [memory.ctypes.data for memory in machine.memory.bytes]  # addresses of PEs' memory in this process

    def allocate(self, nbytes: int) -> int:
        """Symmetric memory, the same on all PEs, which allocate in the same order.  Its bytes are not zero."""
        allocations, number = self._group.allocations, self._allocated
        if number == len(allocations):
            allocations.append(self._take(nbytes, False))
        self._allocated += 1
        address = allocations[number]
        self._memory.bytes[self._pe][address : address + nbytes] = SCRIBBLE
        return address

    def _take(self, nbytes: int, outside: bool) -> int:
        program: Any = getcurrent()
        free_bytes = self._memory.free_bytes
        if nbytes > free_bytes:
            raise SymmetricHeapExhausted(nbytes, free_bytes, "simulate a smaller program")
        what = f"the array made at {self._memory.lines.text(program.line())}"
        return self._memory.allocate(max(nbytes, 1), outside, what=what)

    def release(self, address: int) -> None:
        """Free an allocation, after all PEs have released it."""
        releases = self._group.releases
        releases[address] += 1
        if releases[address] == self._group.n_pes:
            self._memory.free(address)

    def taken(self, address: int) -> bool | None:
        """Whether symmetric memory at an address is allocated; None for any other memory."""
        return None if address >= self._memory.size else self._memory.is_taken(address)

    def view(self, address: int, shape: tuple[int, ...], dtype: DType, strides: tuple[int, ...] | None = None) -> Any:
        """The memory at an address, which may be that of another PE, as an array."""
        pe, start = (self._pe, address) if address < PEER else ((address >> 48) - 1, address & (PEER - 1))
        memory: Any = self._memory.bytes[pe]
        array = np.ndarray(shape, dtype.numpy, memory, start, strides).view(TeamArray)
        array.heap = self
        return array

    def new(self, shape: tuple[int, ...], dtype: DType, stream: int) -> Any:
        """A plain array of this PE."""
        nbytes = int(np.prod(shape, dtype=np.int64)) * dtype.item_bytes
        return self.view(self._take(nbytes, True), shape, dtype)

    def take_words(self, words: Sequence[int]) -> int:
        """Allocate words of this PE with these values; return their address."""
        address = self._take(WORD_BYTES * len(words), True)
        self._memory.bytes[self._pe][address : address + WORD_BYTES * len(words)].view(np.int64)[:] = words
        return address

    def free_words(self, address: int) -> None:
        """Free words of ``take_words``."""
        self._memory.free(address)

    def copy_in(self, address: int, data: Any) -> None:
        """Copy an array to an address; the program waits for the copy."""
        data = np.ascontiguousarray(plain(data))
        self.fill(self.view(address, (data.nbytes,), BYTE), data.reshape(-1).view(np.uint8))

    def fill(self, view: Any, value: Any) -> None:
        """Set every element of an array; the program waits until it is done."""
        view[...] = value
        program: Any = getcurrent()
        program.clock.acquire(self._streams.current().launches.seen)

    def array_view(self, x: Any, writable: bool) -> ArrayView:
        """Describe an array of NumPy, a buffer, or an array with DLPack, in memory of this process."""
        view = arrays.array_view(x, writable)
        for pe, start in enumerate(self._starts):
            if start <= view.address < start + self._memory.size:
                view.address += -start if pe == self._pe else (1 + pe) * PEER - start
                return view
        whole: Any = view.owner
        while isinstance(whole, np.ndarray) and isinstance(whole.base, np.ndarray):
            whole = whole.base
        if isinstance(whole, np.ndarray) and whole.flags.c_contiguous:
            address, nbytes = int(whole.__array_interface__["data"][0]), whole.nbytes
        else:
            address, nbytes = view.address, view.nbytes
        if view.nbytes:
            line = self._memory.lines.text(getcurrent().line()) if isinstance(getcurrent(), Program) else "the library"
            self._memory.adopt(self._pe, address, nbytes, view.owner, f"the plain array given at {line}")
        return view

    def call_key(self, args: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """Return None: each call is checked."""
        return None

    def is_of_process(self, address: Any) -> bool:
        """Whether an argument of a kernel is the address of an array outside the machine's memory."""
        return isinstance(address, int) and self._memory.size <= address < PEER and self._memory.knows(self._pe, address)

    def describe(self) -> list[tuple[str, str]]:
        return [("heap", "memory of the simulator")]

    def close(self, kept: Collection[int]) -> None:
        """Store the final content of the arrays."""
        for address in sorted(kept):
            held = self._memory.object_at(self._pe, address, 0)
            self._machine.results[self._pe, address] = self._memory.bytes[self._pe][held.start : held.stop].tobytes()

    def wait_for_current(self) -> None:
        """Wait until all launches of the current stream have run."""
        program = getcurrent()
        if isinstance(program, Program) and not self._machine.has_ended:
            program.wait_for(self._streams.current().launches)

    def run_by_host(self, used: Sequence[tuple[TeamArray, int]], run: Callable[[], Any]) -> Any:
        """The result of ``run``, as an operation in the current stream.  used: arrays, and READ or WRITE"""
        program = getcurrent()
        if not isinstance(program, Program) or self._machine.has_ended:
            return run()
        launches = self._streams.current().launches
        program.wait_for(launches)
        clock = Clock(self._memory.clocks, (launches, "host"), launches.seen, program.clock.release())
        line = program.line()
        for array, kind in used:
            self._note(clock, line, array, kind)
        result = run()
        launches.seen = merged(launches.seen, clock.seen)
        if not isinstance(result, np.ndarray) and all(kind == READ for _, kind in used):
            program.clock.acquire(clock.seen)  # the program has waited for the number
        program.pause()
        return result

    def _note(self, clock: Clock, line: int, array: TeamArray, kind: int) -> None:
        """Record an access to an array with any strides."""
        address = int(array.__array_interface__["data"][0])
        pe = next((pe for pe, start in enumerate(self._starts) if 0 <= address - start < self._memory.size), None)
        if pe is None or not array.size:
            return
        whole = self._memory.object_at(pe, address - self._starts[pe], 0)
        low = address - self._starts[pe] - whole.start
        shadow = self._memory.shadow(pe, whole)
        if array.nbytes == whole.stop - whole.start:
            shadow.note(clock, line, kind, 0, array.nbytes)
            return
        shape, strides = (*array.shape, array.itemsize), (*(8 * stride for stride in array.strides), 8)
        reads, writes = (as_strided(last[low:], shape, strides) for last in shadow.last)
        shadow.note_all(clock, line, kind, reads, writes)
