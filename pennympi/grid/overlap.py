"""Computing a field in parts, so that its exchange runs beside the computation."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from ..annotations import Plan
from ..backend import Backend
from .decomposition import Decomposition, Sizes


class Part(NamedTuple):
    """Own points of an array with halo.

    first, stop: local indices of the first point, and of the one after the last, by dimension
    stream:      where they are to be computed
    """

    first: Sizes
    stop: Sizes
    stream: Any

    @property
    def slices(self) -> tuple[slice, ...]:
        """The part of an array: u[part.slices]."""
        return tuple(slice(low, high) for low, high in zip(self.first, self.stop, strict=True))

    @property
    def points(self) -> Sizes:
        """Points by dimension."""
        return tuple(high - low for low, high in zip(self.first, self.stop, strict=True))


class Overlap:
    """What ``Grid.overlap`` returns."""

    def __init__(self, backend: Backend, push: Any, boxes: list[tuple[Sizes, Sizes]], exchange: Plan, stream: Any):
        self._backend, self._push, self._boxes, self._exchange, self._stream = backend, push, boxes, exchange, stream
        self._taken = False

    def __enter__(self) -> Iterator[Part]:
        return self._parts()

    def _parts(self) -> Iterator[Part]:
        """The parts at the sides, then, when the exchange has been enqueued, all other points."""
        main, push = self._backend.streams.handle(self._stream), self._backend.streams.handle(self._push)
        self._backend.streams.follow(push, main)
        *sides, inner = self._boxes
        for first, stop in sides:
            yield Part(first, stop, self._push)
        self._exchange(self._push)
        if all(low < high for low, high in zip(*inner, strict=True)):
            yield Part(*inner, self._stream)
        self._backend.streams.follow(main, push)
        self._taken = True

    def __exit__(self, kind: Any, *exc: Any) -> None:
        if kind is None and not self._taken:
            raise RuntimeError("grid.overlap: the loop over the parts ended before the last one, so the field has gaps")


def boxes_of(grid: Decomposition, me: int, unit: int = 1) -> list[tuple[Sizes, Sizes]]:
    """(first, stop) of the own points that neighbours keep, disjoint, then of all others, which may be none.

    unit: along the last dimension a box begins at a multiple of as many own points
    """
    low = list(grid.halo)
    high = [h + n for h, n in zip(grid.halo, grid.own(me), strict=True)]
    boxes = []
    for d, h in enumerate(grid.halo):
        unit_here = unit if d == len(low) - 1 else 1
        for sign in (-1, 1):
            step = tuple(sign * (one == d) for one in range(len(low)))
            if h == 0 or grid.neighbour(me, step) is None or low[d] == high[d]:
                continue
            first, stop = low.copy(), high.copy()
            if sign < 0:
                low[d] = stop[d] = min(low[d] - -h // unit_here * unit_here, high[d])
            else:
                high[d] = first[d] = max(h + (grid.own(me)[d] - h) // unit_here * unit_here, low[d])
            boxes.append((tuple(first), tuple(stop)))
    return [*boxes, (tuple(low), tuple(high))]
