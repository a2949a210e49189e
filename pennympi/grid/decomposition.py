"""How a grid is cut into parts: PEs by dimension, the points of each, and who lies beside whom."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

Sizes = tuple[int, ...]  # a number for each dimension


@dataclass(frozen=True)
class Decomposition:
    """A grid over PEs.  The first parts of a dimension have one point more where the points don't divide.

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

    def place(self, pe: int) -> Sizes:
        """Where a PE lies, by dimension."""
        return self._places[pe]

    def first(self, pe: int) -> Sizes:
        """The global index of the first point of a PE."""
        every = zip(self.shape, self.dims, self.place(pe), strict=True)
        return tuple(at * (n // p) + min(at, n % p) for n, p, at in every)

    def own(self, pe: int) -> Sizes:
        """The points of a PE."""
        every = zip(self.shape, self.dims, self.place(pe), strict=True)
        return tuple(n // p + (at < n % p) for n, p, at in every)

    @property
    def most(self) -> Sizes:
        """The most points that a PE has."""
        return tuple(-(-n // p) for n, p in zip(self.shape, self.dims, strict=True))

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
    """PEs by dimension: those whose busiest PE sends the fewest points; of equals, those that cut the first dimensions,
    whose faces are contiguous.  None where no way leaves each PE with as many points as its neighbours keep of it.

    dims: numbers that are given, 0: any
    """

    def fits(one: Sizes) -> bool:
        every = zip(shape, one, periodic, halo, strict=True)
        return all(n // p >= max(1, h if p > 1 or wraps else 0) for n, p, wraps, h in every)

    def sent(one: Sizes) -> tuple[int, ...]:
        own = [-(-n // p) for n, p in zip(shape, one, strict=True)]
        every = zip(own, one, periodic, halo, strict=True)
        return sum(sides(p, wraps) * h * math.prod(own) // n for n, p, wraps, h in every), *(-p for p in one)

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
