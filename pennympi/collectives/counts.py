"""Counts and displacements of parts of any length: the host reads and checks them, or the kernel does."""

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays.array_view import ArrayView
from ..arrays.dtypes import is_int
from ..backend import Backend
from ..memory.symmetric import SymmetricArrays

MOST_HELD = 1024  # most counts whose words are held for a later call with the same counts
MOST_NAMED = 16  # most PEs whose counts a text lists


@dataclass(frozen=True)
class PartCounts:
    """Counts and starts, in elements, of the parts of an array.

    counts, starts: addresses of (n_pes,) words on this PE's device; starts 0: the parts are packed
    on_host:        (count, start) of each part, () if only the device knows them
    """

    counts: int
    starts: int
    on_host: tuple[tuple[int, int], ...] = ()

    def check_fits(self, view: ArrayView, name: str, apart: bool = False) -> None:
        """Raise ValueError if a known part does not lie in the array, or, with ``apart``, overlaps another part."""
        end = 0
        for start, count, pe in sorted((start, count, pe) for pe, (count, start) in enumerate(self.on_host) if count):
            if start + count > view.count:
                raise ValueError(
                    f"part {pe} of {name} has {count} elements and begins at element {start}, but {name} has "
                    f"{view.count} elements: give a larger array, or smaller counts"
                )
            if apart and start < end:
                raise ValueError(
                    f"part {pe} of {name} begins at element {start}, inside another part: change displacements"
                )
            end = start + count

    def part(self, pe: int) -> tuple[int, int] | None:
        """(count, start) of a part, or None if only the device knows them."""
        return self.on_host[pe] if self.on_host else None

    @property
    def largest(self) -> int:
        """Number of elements of the largest part, 0 if only the device knows it."""
        return max((max(1, count) for count, _ in self.on_host), default=0)

    def text(self, numbers: int = 1) -> str:
        """A text about the counts that is the same on every PE.  numbers: number of numbers in an element"""
        if not self.on_host:
            return f"parts of {numbers} x" if numbers > 1 else "parts of"
        counts = [count * numbers for count, _ in self.on_host]
        named = " + ".join(map(str, counts))
        return named if len(counts) <= MOST_NAMED else f"{sum(counts)} ({zlib.crc32(named.encode()):08x})"


class CountsReader:
    """Reads the counts of a team's calls.

    keeps:  True while the words of counts must live as long as the team
    forget: function that is called before words are freed
    """

    def __init__(self, backend: Backend, arrays: SymmetricArrays, n_pes: int, forget: Callable[[], None]):
        self._backend, self._arrays, self._n_pes, self._forget = backend, arrays, n_pes, forget
        self.keeps = False
        self._held: dict[tuple[int, ...], int] = {}
        self._kept: set[tuple[int, ...]] = set()

    def begin(self, keeps: bool) -> None:
        """Prepare to read the counts of a call.  keeps: True if a plan, or a captured graph, will read their words again

        If many words are held, this waits for the device, and frees the words that no plan and no graph may read.
        """
        self.keeps = keeps
        if len(self._held) - len(self._kept) >= MOST_HELD and not keeps:
            self._forget()
            self._backend.streams.synchronize(None)
            for numbers in [held for held in self._held if held not in self._kept]:
                self._backend.heap.free_words(self._held.pop(numbers))

    def read(self, counts: Any, displacements: Any, name: str = "") -> PartCounts:
        """Counts and displacements (None: packed).  name: prefix of these two words in errors, such as "send_"

        Raises TypeError or ValueError.
        """
        names = f"{name}counts", f"{name}displacements"
        packed, on_host = displacements is None, self._on_host(counts)
        if not packed and self._on_host(displacements) != on_host:
            places = ("host", "device") if on_host else ("device", "host")
            raise TypeError(
                f"{names[0]} lie on the {places[0]} and {names[1]} on the {places[1]}: pass both on one of them"
            )
        if not on_host:
            address = self._on_device(counts, names[0])
            return PartCounts(address, 0 if packed else self._on_device(displacements, names[1]))
        sizes = self._numbers(counts, names[0])
        starts = [0, *np.cumsum(sizes, dtype=object)][: self._n_pes] if packed else self._numbers(displacements, names[1])
        address = self._words((*sizes, *starts))
        return PartCounts(address, address + 8 * self._n_pes, tuple(zip(sizes, starts, strict=True)))

    def at_start(self, parts: PartCounts) -> PartCounts:
        """The same counts, with each part at element 0."""
        return PartCounts(parts.counts, self._words((0,) * self._n_pes))

    def _on_host(self, numbers: Any) -> bool:
        """Whether numbers are a sequence of ints on the host.  If the device is a CPU, a NumPy array is on the device."""
        if isinstance(numbers, np.ndarray):
            return self._backend.has_streams
        return isinstance(numbers, Sequence) and not isinstance(numbers, bytes | bytearray | memoryview | str)

    def _numbers(self, numbers: Sequence[Any], name: str) -> list[int]:
        if len(numbers) != self._n_pes:
            raise ValueError(f"{name} has {len(numbers)} numbers: give one for each of the {self._n_pes} PEs")
        for pe, number in enumerate(numbers):
            if not is_int(number):
                raise TypeError(f"{name}[{pe}] is {number!r}, and not an int")
            if number < 0:
                raise ValueError(f"{name}[{pe}] is {number}: give the number of elements, 0 or more")
            if number >= 1 << 60:
                raise ValueError(f"{name}[{pe}] is {number}: no array has that many elements, give fewer")
        return [int(number) for number in numbers]

    def _on_device(self, numbers: Any, name: str) -> int:
        """The address of an array of the device, which the kernel reads when it runs."""
        try:
            view = self._backend.heap.array_view(numbers, False)
        except TypeError as error:
            raise TypeError(f"{name}: give a sequence of ints, or an int64 array of the device ({error})") from None
        self._arrays.holds(view)
        if view.dtype.name != "int64" or view.count != self._n_pes or view.address % 8:
            aligned = "" if view.address % 8 == 0 else " at an address that is not a multiple of 8"
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
