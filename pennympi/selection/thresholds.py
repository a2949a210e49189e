"""Which algorithm of a collective other than AllReduce runs: the named one, or one chosen by size thresholds."""

from collections.abc import Callable, Mapping

from ..arrays.dtypes import TABLE as DTYPES
from ..errors import Unsupported
from ..kernels.algorithm import MOST_PACKET_PES, Algorithm, Place
from ..settings import algorithm_for

PACKETS_MAX_BYTES = 16 << 20  # that a PE sends: beyond, packets use more wire time than signals do
TWO_HOPS_BYTES = 2 << 20  # that a link carries in the time of a second hop and its signals
BYTE = DTYPES["uint8"]  # collectives that do not reduce move bytes, whatever the dtype
Best = Callable[[Place, int], str]  # (place, bytes) -> name of the algorithm
Choose = Callable[[str | Algorithm, Place, int, str, str], Algorithm]


def selector(collective: str, table: Mapping[str, Algorithm], best: Best) -> Choose:
    """The function choose(name, place, nbytes, dtype, op) of a collective, which returns the row to run.

    table: the collective's rows by name
    best:  gives the name for "auto", unless PENNYMPI_ALGORITHM does
    choose takes a name, "auto" or a row.  It raises ValueError for an unknown name, Unsupported if the row cannot run.
    """

    def choose(name: str | Algorithm, place: Place, nbytes: int, dtype: str, op: str) -> Algorithm:
        if name == "auto":
            name = algorithm_for(collective)
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


def packets_then_direct(fallback: str) -> Best:
    """For a collective in which every PE sends ``nbytes`` to every other PE: "packets" if small, else "direct".

    fallback: the algorithm for teams in which stores do not reach every PE
    The threshold is that of AllReduce between two PEs, which sends the same bytes in the same way.
    """

    def best(place: Place, nbytes: int) -> str:
        if not place.ll128_safe:
            return fallback
        small = place.packets and nbytes * (place.n_pes - 1) <= PACKETS_MAX_BYTES and place.n_pes <= MOST_PACKET_PES
        return "packets" if small else "direct"

    return best


def packets_then_large(large: Mapping[int, str], fallback: str) -> Best:
    """For a collective in which the root sends ``nbytes`` to every other PE, or receives them: "packets" if small.

    large:    the algorithm beyond that threshold, by number of PEs (an entry serves more PEs up to the next entry)
    fallback: the algorithm for teams in which stores do not reach every PE
    """

    def best(place: Place, nbytes: int) -> str:
        if not place.ll128_safe:
            return fallback
        n_pes = max(2, place.n_pes)
        max_bytes = PACKETS_MAX_BYTES if n_pes == 2 else TWO_HOPS_BYTES // (n_pes - 2)
        if place.packets and nbytes <= max_bytes and n_pes <= MOST_PACKET_PES:
            return "packets"
        return large[max(n for n in large if n <= n_pes)]

    return best
