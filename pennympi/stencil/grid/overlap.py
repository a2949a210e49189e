"""The computation of a field in parts, beside which the exchange of its halos runs."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, NamedTuple

from ...annotations import Plan
from ...backend import Backend
from .decomposition import Decomposition, Sizes

Corners = tuple[Sizes, Sizes]  # the first index of a box, and the index after its last point, by dimension


class Part(NamedTuple):
    """A box of own points.

    first, stop: first index in an array with halo, and the index after the last point, by dimension
    stream:      stream on which the program computes the points
    """

    first: Sizes
    stop: Sizes
    stream: Any

    @property
    def slices(self) -> tuple[slice, ...]:
        """The slices of the part: u[part.slices]."""
        return tuple(map(slice, self.first, self.stop))

    @property
    def points(self) -> Sizes:
        return tuple(high - low for low, high in zip(self.first, self.stop, strict=True))


Overlap = AbstractContextManager[Iterator[Part]]


@contextmanager
def overlapped(
    backend: Backend, push: Any, boxes: list[Corners], exchange: Plan, stream: Any
) -> Iterator[Iterator[Part]]:
    """The context of ``Grid.overlap``.  push: the stream of the exchange, and of all boxes except the last box"""
    ended = False

    def parts() -> Iterator[Part]:
        nonlocal ended
        main, side = backend.streams.handle(stream), backend.streams.handle(push)
        backend.streams.follow(side, main)
        *sides, inner = boxes
        for first, stop in sides:
            yield Part(first, stop, push)
        exchange(push)
        if all(low < high for low, high in zip(*inner, strict=True)):
            yield Part(*inner, stream)
        backend.streams.follow(main, side)
        ended = True

    yield parts()
    if not ended:
        raise RuntimeError(
            "grid.overlap: the loop over the parts ended before the last part, so the field has gaps: take all parts"
        )


def boxes_of(grid: Decomposition, me: int) -> list[Corners]:
    """The own points that neighbours keep, in disjoint boxes, then the box of all other points, which may be empty."""
    low, high, boxes = list(grid.halo), [h + n for h, n in zip(grid.halo, grid.own(me), strict=True)], []
    for d, h in enumerate(grid.halo):
        before, after = grid.neighbours_along(me, d)
        if h and before is not None and low[d] < high[d]:
            edge = min(low[d] + h, high[d])
            boxes.append((tuple(low), (*high[:d], edge, *high[d + 1 :])))
            low[d] = edge
        if h and after is not None and low[d] < high[d]:
            edge = max(high[d] - h, low[d])
            boxes.append(((*low[:d], edge, *low[d + 1 :]), tuple(high)))
            high[d] = edge
    return [*boxes, (tuple(low), tuple(high))]
