"""The parts of a grid: the number of PEs by dimension, the points of each PE, and its neighbours."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, product

from ...kernels.sweep.norm import MOST_GROUP_POINTS

Sizes = tuple[int, ...]  # a number for each dimension


@dataclass(frozen=True)
class Decomposition:
    """A grid over PEs, cut at ``edges``.

    shape:    number of points of the whole grid, by dimension
    dims:     number of PEs, by dimension
    periodic: True, by dimension, if the first and the last point are neighbours
    halo:     number of points of each neighbour that a PE keeps, by dimension
    pes:      the PE at each place, in C order of the places; () while it is not known
    """

    shape: Sizes
    dims: Sizes
    periodic: tuple[bool, ...]
    halo: Sizes
    pes: Sizes = ()

    @cached_property
    def _pe_at(self) -> dict[Sizes, int]:
        return dict(zip(product(*map(range, self.dims)), self.pes, strict=True))

    @cached_property
    def _places(self) -> dict[int, Sizes]:
        return {pe: place for place, pe in self._pe_at.items()}

    @cached_property
    def edges(self) -> tuple[Sizes, ...]:
        """The first index of each part, and the end of the last part, by dimension.

        Along the last dimension parts begin at multiples of MOST_GROUP_POINTS, so that no group of a norm is cut, unless
        a part would then have fewer points than a group, or than the halo of its neighbours.
        """
        last = part_edges(self.shape[-1], self.dims[-1], MOST_GROUP_POINTS)
        if min(stop - first for first, stop in pairwise(last)) < max(MOST_GROUP_POINTS, self.halo[-1]):
            last = part_edges(self.shape[-1], self.dims[-1])
        return *map(part_edges, self.shape[:-1], self.dims[:-1]), last

    def place(self, pe: int) -> Sizes:
        return self._places[pe]

    def first(self, pe: int) -> Sizes:
        """The global index of the first point of a PE."""
        return tuple(edges[k] for edges, k in zip(self.edges, self.place(pe), strict=True))

    def own(self, pe: int) -> Sizes:
        """The number of points of a PE, by dimension."""
        return tuple(edges[k + 1] - edges[k] for edges, k in zip(self.edges, self.place(pe), strict=True))

    def part(self, pe: int) -> tuple[slice, ...]:
        """The points of a PE, as slices of the whole grid."""
        return tuple(slice(edges[k], edges[k + 1]) for edges, k in zip(self.edges, self.place(pe), strict=True))

    @property
    def most(self) -> Sizes:
        """The most points of a PE, by dimension."""
        return tuple(max(stop - first for first, stop in pairwise(edges)) for edges in self.edges)

    @property
    def cuts_groups(self) -> bool:
        """True if a part begins inside a group of MOST_GROUP_POINTS points of the last dimension."""
        return any(first % MOST_GROUP_POINTS for first in self.edges[-1][:-1])

    def local(self, pe: int) -> Sizes:
        """The shape of a PE's part with its halo."""
        return with_halo(self.own(pe), self.halo)

    def neighbour(self, pe: int, step: Sizes) -> int | None:
        """The PE that is ``step`` places away; None beyond the end of the grid."""
        place = [k + places for k, places in zip(self.place(pe), step, strict=True)]
        wrapped = [k % p if wraps else k for k, p, wraps in zip(place, self.dims, self.periodic, strict=True)]
        return self._pe_at.get(tuple(wrapped))

    def neighbours_along(self, pe: int, d: int) -> tuple[int | None, int | None]:
        """The PEs before and after a PE in dimension d."""
        before, after = (tuple(sign * (k == d) for k in range(len(self.dims))) for sign in (-1, 1))
        return self.neighbour(pe, before), self.neighbour(pe, after)


def part_edges(n: int, parts: int, unit: int = 1) -> Sizes:
    """The first index of each part of n points, and n.

    Parts begin at multiples of ``unit``.  If the units do not divide evenly, the first parts have one unit more.
    """
    few, rest = divmod(n // unit, parts)
    return *((k * few + min(k, rest)) * unit for k in range(parts)), n


def with_halo(sizes: Sizes, halo: Sizes) -> Sizes:
    return tuple(n + 2 * h for n, h in zip(sizes, halo, strict=True))


def factorings(n: int, dims: Sequence[int]) -> Iterator[Sizes]:
    """All ways to write n as a product with a factor for each dimension.  dims: the factor, by dimension; 0: any"""
    if not dims:
        if n == 1:
            yield ()
        return
    for factor in (dims[0],) if dims[0] else range(1, n + 1):
        if n % factor == 0:
            for factors in factorings(n // factor, dims[1:]):
                yield (factor, *factors)


def chosen_dims(n_pes: int, shape: Sizes, dims: Sizes, periodic: tuple[bool, ...], halo: Sizes) -> Sizes | None:
    """The number of PEs by dimension; None if a PE would have fewer points than the halo of its neighbours.

    The best choice cuts no group of points; then, it makes the busiest PE send the fewest points; then, it cuts the
    first dimensions, whose faces are contiguous.
    dims: the number of PEs by dimension, as the user gives it; 0: any
    """

    def fits(counts: Sizes) -> bool:
        dimensions = zip(shape, counts, periodic, halo, strict=True)
        return all(n // p >= max(1, h if p > 1 or wraps else 0) for n, p, wraps, h in dimensions)

    def cost(counts: Sizes) -> tuple[int, ...]:
        cut = Decomposition(shape, counts, periodic, halo)
        return cut.cuts_groups, surface(cut.most, counts, periodic, halo), *(-p for p in counts)

    return min(filter(fits, factorings(n_pes, dims)), key=cost, default=None)


def surface(own: Sizes, dims: Sizes, periodic: Sequence[bool], halo: Sizes) -> int:
    """Number of points that the busiest PE sends.  own: points of a PE, by dimension;  dims: number of PEs"""
    sides = (2 * (p > 1) if wraps else min(2, p - 1) for p, wraps in zip(dims, periodic, strict=True))
    return sum(n_sides * h * math.prod(own) // n for n_sides, h, n in zip(sides, halo, own, strict=True))


def compact_places(nodes: Sequence[Sequence[int]], dims: Sizes, own: Sizes, periodic: Sequence[bool]) -> Sizes:
    """The PE at each place.  The PEs of a node get a block of the grid: the block that exchanges the fewest points.

    nodes: the PEs of each node;  own: points of a PE, by dimension
    If the nodes have different numbers of PEs, or no block fits, the PEs take the places in their order.
    """

    def outer_of(block: Sizes) -> Sizes:
        return tuple(p // b for p, b in zip(dims, block, strict=True))

    def sent(block: Sizes) -> int:
        points = tuple(b * n for b, n in zip(block, own, strict=True))
        return surface(points, outer_of(block), periodic, (1,) * len(dims))

    n_local = len(nodes[0])
    blocks = factorings(n_local, [0] * len(dims))
    fitting = [block for block in blocks if all(p % b == 0 for p, b in zip(dims, block, strict=True))]
    if len(nodes) == 1 or any(len(pes) != n_local for pes in nodes) or not fitting:
        return tuple(range(math.prod(dims)))
    block = min(fitting, key=sent)
    pe_at = {}
    for node, outer in zip(nodes, product(*map(range, outer_of(block))), strict=True):
        for pe, inner in zip(node, product(*map(range, block)), strict=True):
            pe_at[tuple(o * b + i for o, b, i in zip(outer, block, inner, strict=True))] = pe
    return tuple(pe_at[place] for place in product(*map(range, dims)))
