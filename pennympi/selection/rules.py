"""Which algorithm of a collective runs: the one that is named, or the best for the size."""

from collections.abc import Callable, Mapping

from ..arrays.dtypes import TABLE as DTYPES
from ..errors import Unsupported
from ..kernels.algorithm import MOST_PACKET_PES, Algorithm, Place
from ..settings import setting

PACKETS_MAX_BYTES = 16 << 20  # that a PE sends: beyond, packets cost more wire than signals cost time
BYTE = DTYPES["uint8"]  # what only moves data moves bytes
Best = Callable[[Place, int], str]
Choose = Callable[[str | Algorithm, Place, int, str, str], Algorithm]


def chooser(collective: str, table: Mapping[str, Algorithm], best: Best) -> Choose:
    """``choose`` of a collective: (name or "auto", Place, bytes, dtype, op) -> its row.

    "auto" is what PENNYMPI_<COLLECTIVE> names, or else ``best`` for the place and the size.
    choose raises ValueError for an unknown name, Unsupported when the row can't run here.
    """

    def choose(name: str | Algorithm, place: Place, nbytes: int, dtype: str, op: str) -> Algorithm:
        if name == "auto":
            name = setting(f"PENNYMPI_{collective.upper()}")
        if name == "auto":
            name = best(place, nbytes)
        row = name if isinstance(name, Algorithm) else table.get(name)
        if row is None:
            raise ValueError(f"algorithm {name!r} is unknown: use auto, {', '.join(table)}")
        reason = row.refuse(place, dtype, op)
        if reason:
            raise Unsupported(f"{row.name} can't run here: {reason}; use algorithm='auto'")
        return row

    return choose


def packets_then_direct(beyond: str) -> Best:
    """For a collective in which every PE sends ``nbytes`` to every other one.

    As AllReduce between two PEs was measured, where the same bytes travel in the same ways.
    beyond: what runs where a peer is beyond the reach of stores
    """

    def best(place: Place, nbytes: int) -> str:
        if not place.ll128_safe:
            return beyond
        small = place.packets and nbytes * (place.n_pes - 1) <= PACKETS_MAX_BYTES and place.n_pes <= MOST_PACKET_PES
        return "packets" if small else "direct"

    return best


TWO_HOPS_BYTES = 2 << 20  # what a link carries in the time that a second hop and its signals take


def packets_with_root(large: Mapping[int, str], beyond: str) -> Best:
    """For a collective in which the root's link carries ``nbytes`` to or from every other PE.

    large:  what runs where packets cost more or are off, by PEs (the largest entry serves more PEs too)
    beyond: what runs where a peer is beyond the reach of stores
    """

    def best(place: Place, nbytes: int) -> str:
        if not place.ll128_safe:
            return beyond
        n_pes = max(2, place.n_pes)
        most_bytes = PACKETS_MAX_BYTES if n_pes == 2 else TWO_HOPS_BYTES // (n_pes - 2)
        if place.packets and nbytes <= most_bytes and n_pes <= MOST_PACKET_PES:
            return "packets"
        return large[max(n for n in large if n <= n_pes)]

    return best
