"""How a grid is cut into parts: PEs by dimension, the points of each, and who lies beside whom."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from ..kernels.sweep.norm import MOST_GROUP_POINTS

Sizes = tuple[int, ...]  # a number for each dimension


@dataclass(frozen=True)
class Decomposition:
    """A grid over PEs, cut at ``edges_of``.

    shape: points of the whole grid, by dimension, as are the next three
    dims:  PEs;  periodic: whether the last point lies beside the first;  halo: points kept of each neighbour's
    pes:   the PE at each place, in C order of the places
    """

    shape: Sizes
    dims: Sizes
    periodic: tuple[bool, ...]
    halo: Sizes
    pes: Sizes

    @cached_property
    def _places(self) -> dict[int, Sizes]:
        return {pe: unravel(k, self.dims) for k, pe in enumerate(self.pes)}

    @cached_property
    def edges(self) -> tuple[Sizes, ...]:
        """Where the parts begin, and the last one ends, by dimension."""
        return edges_of(self.shape, self.dims, self.halo)

    def place(self, pe: int) -> Sizes:
        """Where a PE lies, by dimension."""
        return self._places[pe]

    def first(self, pe: int) -> Sizes:
        """The global index of the first point of a PE."""
        return tuple(edges[at] for edges, at in zip(self.edges, self.place(pe), strict=True))

    def own(self, pe: int) -> Sizes:
        """The points of a PE."""
        return tuple(edges[at + 1] - edges[at] for edges, at in zip(self.edges, self.place(pe), strict=True))

    @property
    def most(self) -> Sizes:
        """The most points that a PE has."""
        return most_of(self.edges)

    @property
    def cuts_groups(self) -> bool:
        """Whether a part along the last dimension begins within a group of MOST_GROUP_POINTS points."""
        return cuts_groups(self.edges[-1])

    def local(self, pe: int) -> Sizes:
        """The shape of a PE's part with its halo."""
        return with_halo(self.own(pe), self.halo)

    def neighbour(self, pe: int, step: Sizes) -> int | None:
        """The PE that lies ``step`` places away, None where the grid ends before."""
        place = [at + one for at, one in zip(self.place(pe), step, strict=True)]
        for d, at in enumerate(place):
            if not 0 <= at < self.dims[d] and not self.periodic[d]:
                return None
            place[d] = at % self.dims[d]
        return self.pes[ravel(place, self.dims)]


def edges_of(shape: Sizes, dims: Sizes, halo: Sizes) -> tuple[Sizes, ...]:
    """Where the parts of each dimension begin, and the last one ends.

    Along the last dimension parts begin at multiples of MOST_GROUP_POINTS, so that the norms of sweeps find groups of
    points whole, unless one would then have fewer points than a group or than its neighbours keep of it.
    """
    last = part_edges(shape[-1], dims[-1], MOST_GROUP_POINTS)
    if min(counts(last)) < max(MOST_GROUP_POINTS, halo[-1]):
        last = part_edges(shape[-1], dims[-1])
    return *map(part_edges, shape[:-1], dims[:-1]), last


def part_edges(n: int, parts: int, unit: int = 1) -> Sizes:
    """Where the parts of n points begin, and the last one ends: the first ones have one unit more where the units don't
    divide, and the last one has the points that are no whole unit, too.
    """
    few, more = divmod(n // unit, parts)
    return *((k * few + min(k, more)) * unit for k in range(parts)), n


def counts(edges: Sizes) -> list[int]:
    """The points of each part."""
    return [stop - first for first, stop in pairwise(edges)]


def most_of(edges: Sequence[Sizes]) -> Sizes:
    """The points of the largest part, by dimension."""
    return tuple(max(counts(each)) for each in edges)


def cuts_groups(edges: Sizes) -> bool:
    """Whether a part begins within a group of MOST_GROUP_POINTS points."""
    return any(first % MOST_GROUP_POINTS for first in edges[:-1])


def with_halo(sizes: Sizes, halo: Sizes) -> Sizes:
    """Sizes with the halo on both sides."""
    return tuple(n + 2 * h for n, h in zip(sizes, halo, strict=True))


def ravel(place: Sequence[int], dims: Sizes) -> int:
    """The number of a place in C order."""
    number = 0
    for at, p in zip(place, dims, strict=True):
        number = number * p + at
    return number


def unravel(number: int, dims: Sizes) -> Sizes:
    """The place with a number in C order."""
    place = []
    for p in reversed(dims):
        number, at = divmod(number, p)
        place.append(at)
    return tuple(reversed(place))


def factorings(n: int, dims: Sequence[int]) -> Iterator[Sizes]:
    """All ways to write n as a product with a factor for each dimension.  dims: a factor that is given, 0: any"""
    if not dims:
        if n == 1:
            yield ()
        return
    for factor in (dims[0],) if dims[0] else range(1, n + 1):
        if n % factor == 0:
            for others in factorings(n // factor, dims[1:]):
                yield (factor, *others)


def chosen_dims(n_pes: int, shape: Sizes, dims: Sizes, periodic: Sequence[bool], halo: Sizes) -> Sizes | None:
    """PEs by dimension: those that cut no group of points, where there are such; of them those whose busiest PE sends the
    fewest points; of equals, those that cut the first dimensions, whose faces are contiguous.  None where no way leaves
    each PE with as many points as its neighbours keep of it.

    dims: numbers that are given, 0: any
    """

    def fits(one: Sizes) -> bool:
        every = zip(shape, one, periodic, halo, strict=True)
        return all(n // p >= max(1, h if p > 1 or wraps else 0) for n, p, wraps, h in every)

    def sent(one: Sizes) -> tuple[int, ...]:
        edges = edges_of(shape, one, halo)
        own = most_of(edges)
        every = zip(own, one, periodic, halo, strict=True)
        points = sum(sides(p, wraps) * h * math.prod(own) // n for n, p, wraps, h in every)
        return cuts_groups(edges[-1]), points, *(-p for p in one)

    return min(filter(fits, factorings(n_pes, dims)), key=sent, default=None)


def sides(p: int, wraps: bool) -> int:
    """On how many sides of a dimension of p parts the busiest part has a neighbour."""
    return 2 * (p > 1) if wraps else min(2, p - 1)


def compact_places(nodes: Sequence[Sequence[int]], dims: Sizes, own: Sizes, periodic: Sequence[bool]) -> Sizes:
    """The PE at each place: those of a node together in a block of the grid that exchanges the fewest points.

    nodes: the PEs of each node, which are the same on all PEs;  own: points of a PE
    Where the nodes have different numbers of PEs, or no block of theirs fits, the PEs lie in their order.
    """
    n_local, in_order = len(nodes[0]), tuple(range(math.prod(dims)))
    if len(nodes) == 1 or any(len(pes) != n_local for pes in nodes):
        return in_order
    blocks = [
        one for one in factorings(n_local, [0] * len(dims)) if all(p % b == 0 for p, b in zip(dims, one, strict=True))
    ]
    if not blocks:
        return in_order

    def surface(block: Sizes) -> int:
        points = [b * n for b, n in zip(block, own, strict=True)]
        every = zip(points, dims, block, periodic, strict=True)
        return sum(sides(p // b, wraps) * math.prod(points) // n for n, p, b, wraps in every)

    block = min(blocks, key=surface)
    outer = tuple(p // b for p, b in zip(dims, block, strict=True))
    pes = []
    for k in in_order:
        place = unravel(k, dims)
        node = ravel([at // b for at, b in zip(place, block, strict=True)], outer)
        pes.append(nodes[node][ravel([at % b for at, b in zip(place, block, strict=True)], block)])
    return tuple(pes)
