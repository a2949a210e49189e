"""Counts and displacements of parts of any length: read on the host and checked there, or left to the kernel."""

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays.array_view import ArrayView
from ..arrays.dtypes import is_int
from ..backend import Backend
from ..memory.symmetric import SymmetricArrays

MOST_HELD = 1024  # counts whose words are held for the next call of the same
MOST_NAMED = 16  # PEs whose counts are named one by one


@dataclass(frozen=True)
class Counts:
    """The parts of one array, in elements, by PE.

    counts, starts: addresses of (n_pes,) words of this PE's device; starts 0: the parts are packed
    on_host:        (count, start) of each part, () where only the device knows them
    """

    counts: int
    starts: int
    on_host: tuple[tuple[int, int], ...] = ()

    def check_fits(self, view: ArrayView, name: str, apart: bool = False) -> None:
        """Raise ValueError unless each part that is known lies in the array; apart: and none overlaps another."""
        end = 0
        for start, count, pe in sorted((start, count, pe) for pe, (count, start) in enumerate(self.on_host) if count):
            if start + count > view.count:
                raise ValueError(
                    f"part {pe} of {name} has {count} elements from element {start} on, and {name} has {view.count}: "
                    "give a larger array, or smaller counts"
                )
            if apart and start < end:
                raise ValueError(f"part {pe} of {name} begins at element {start}, inside another part: set them apart")
            end = start + count

    def part(self, pe: int) -> tuple[int, int] | None:
        """(count, start) of a part, None where only the device knows."""
        return self.on_host[pe] if self.on_host else None

    @property
    def largest(self) -> int:
        """Elements of the largest part, 0 where only the device knows."""
        return max((max(1, count) for count, _ in self.on_host), default=0)

    def text(self, numbers: int = 1) -> str:
        """What all PEs know of it, in words.  numbers: that an element has"""
        if not self.on_host:
            return f"parts of {numbers} x" if numbers > 1 else "parts of"
        counts = [count * numbers for count, _ in self.on_host]
        named = " + ".join(map(str, counts))
        return named if len(counts) <= MOST_NAMED else f"{sum(counts)} ({zlib.crc32(named.encode()):08x})"


class CountsReader:
    """Reads the counts of a team's calls.

    keeps:  the words of counts that are read now may be read as long as the team lives
    forget: called before words are given back
    """

    def __init__(self, backend: Backend, arrays: SymmetricArrays, n_pes: int, forget: Callable[[], None]):
        self._backend, self._arrays, self._n_pes, self._forget = backend, arrays, n_pes, forget
        self.keeps = False
        self._held: dict[tuple[int, ...], int] = {}
        self._kept: set[tuple[int, ...]] = set()

    def begin(self, keeps: bool) -> None:
        """Before the counts of a call are read.  keeps: a plan, or a graph that is captured, will read their words again

        What no plan or graph may read is given back when nothing in flight does: seldom, for this waits for the device.
        """
        self.keeps = keeps
        if len(self._held) - len(self._kept) >= MOST_HELD and not keeps:
            self._forget()
            self._backend.streams.synchronize(None)
            for numbers in [one for one in self._held if one not in self._kept]:
                self._backend.heap.free_words(self._held.pop(numbers))

    def read(self, counts: Any, displacements: Any, name: str = "") -> Counts:
        """Counts and displacements (None: packed).  name: what comes before these words in errors, such as "send_"

        Raises TypeError or ValueError.
        """
        names = f"{name}counts", f"{name}displacements"
        packed, on_host = displacements is None, self._on_host(counts)
        if not packed and self._on_host(displacements) != on_host:
            here, there = ("host", "device") if on_host else ("device", "host")
            raise TypeError(f"{names[0]} lie on the {here} and {names[1]} on the {there}: give both in the same place")
        if not on_host:
            at = self._on_device(counts, names[0])
            return Counts(at, 0 if packed else self._on_device(displacements, names[1]))
        own = self._numbers(counts, names[0])
        starts = [0, *np.cumsum(own, dtype=object)][: self._n_pes] if packed else self._numbers(displacements, names[1])
        address = self._words((*own, *starts))
        return Counts(address, address + 8 * self._n_pes, tuple(zip(own, starts, strict=True)))

    def at_start(self, parts: Counts) -> Counts:
        """The same counts, of parts each of which begins at element 0."""
        return Counts(parts.counts, self._words((0,) * self._n_pes))

    def _on_host(self, given: Any) -> bool:
        """Whether numbers are a sequence of ints of the host.  A NumPy array is the device's where that is a CPU."""
        if isinstance(given, np.ndarray):
            return self._backend.has_streams
        return isinstance(given, Sequence) and not isinstance(given, bytes | bytearray | memoryview | str)

    def _numbers(self, given: Sequence[Any], name: str) -> list[int]:
        if len(given) != self._n_pes:
            raise ValueError(f"{name} has {len(given)} numbers: give one for each of the {self._n_pes} PEs")
        for pe, one in enumerate(given):
            if not is_int(one):
                raise TypeError(f"{name}[{pe}] is {one!r}, and not an int")
            if one < 0:
                raise ValueError(f"{name}[{pe}] is {one}: give the number of elements, 0 or more")
            if one >= 1 << 60:
                raise ValueError(f"{name}[{pe}] is {one}, which no array has")
        return [int(one) for one in given]

    def _on_device(self, given: Any, name: str) -> int:
        """The address of an array of the device, which the kernel reads when it runs."""
        try:
            view = self._backend.heap.array_view(given, False)
        except TypeError as error:
            raise TypeError(f"{name}: give a sequence of ints, or an int64 array of the device ({error})") from None
        self._arrays.holds(view)
        if view.dtype.name != "int64" or view.count != self._n_pes or view.address % 8:
            aligned = "" if view.address % 8 == 0 else " at no multiple of 8 bytes"
            raise ValueError(
                f"{name} on the device are {view.count} numbers of {view.dtype.name}{aligned}: give "
                f"{self._n_pes} of int64, one for each PE, or a sequence of ints on the host"
            )
        return view.address

    def _words(self, numbers: tuple[int, ...]) -> int:
        """Address of these numbers on the device."""
        if numbers not in self._held:
            self._held[numbers] = self._backend.heap.take_words(numbers)
        if self.keeps:
            self._kept.add(numbers)
        return self._held[numbers]
