"""The arguments of ``Team.grid``, checked before any PE sends anything."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ...arrays.dtypes import ints
from ...job.job import Job
from ...job.on_all import on_all
from ...kernels.algorithm import Topology
from .decomposition import Decomposition, Sizes, chosen_dims, compact_places

MOST_DIMENSIONS = 3


def agreed_decomposition(job: Job, topology: Topology, *arguments: Any) -> Decomposition:
    """The decomposition that all PEs ask for.  Collective.  Raises TypeError or ValueError on every PE."""
    return on_all(
        job,
        "grid",
        lambda: decomposition_of(topology, *arguments),
        lambda cut: f"{cut.shape} points, dims {cut.dims}, periodic {cut.periodic}, halo {cut.halo}",
    )


def decomposition_of(topology: Topology, shape: Any, dims: Any, periodic: Any, halo: Any) -> Decomposition:
    """The decomposition that a user asks for.  Raises TypeError or ValueError."""
    points = _ints("shape", shape, None, 1)
    n = len(points)
    if not 1 <= n <= MOST_DIMENSIONS:
        raise ValueError(f"shape {points}: a grid has 1 to {MOST_DIMENSIONS} dimensions")
    asked = (0,) * n if dims is None else _ints("dims", dims, n, 0)
    width = _ints("halo", halo, n, 0)
    wraps = _flags(periodic, n)
    n_pes = topology.n_pes
    if dims is not None and all(asked) and math.prod(asked) != n_pes:
        raise ValueError(f"dims {asked} are {math.prod(asked)} PEs, and the team has {n_pes}: a 0 leaves a number open")
    chosen = chosen_dims(n_pes, points, asked, wraps, width)
    if chosen is None:
        as_dims = f" as dims {asked}" if any(asked) else ""
        raise ValueError(
            f"a grid of {points} points can't be cut over {n_pes} PEs{as_dims} so that each PE has at least one point, "
            f"and at least the halo {width} in each dimension in which it has neighbours: "
            "use fewer PEs, a narrower halo, or other dims"
        )
    cut = Decomposition(points, chosen, wraps, width)
    return replace(cut, pes=compact_places(topology.nodes, chosen, cut.most, wraps))


def _ints(name: str, value: Any, n: int | None, least: int) -> Sizes:
    """Ints of at least ``least`` by dimension.  n: number of dimensions; None: any.  Raises TypeError or ValueError."""
    sizes = ints(name, value, n or 1)
    if n is not None and len(sizes) != n:
        raise ValueError(f"{name} {sizes} has {len(sizes)} numbers for {n} dimensions")
    if any(size < least for size in sizes):
        raise ValueError(f"{name} {sizes}: each number is at least {least}")
    return sizes


def _flags(periodic: Any, n: int) -> tuple[bool, ...]:
    """periodic by dimension.  Raises TypeError or ValueError."""
    if isinstance(periodic, bool):
        return (periodic,) * n
    if not isinstance(periodic, Sequence) or not all(isinstance(flag, bool) for flag in periodic):
        raise TypeError(f"periodic {periodic!r} is not a bool or a sequence of bools")
    if len(periodic) != n:
        raise ValueError(f"periodic {tuple(periodic)} has {len(periodic)} bools for {n} dimensions")
    return tuple(periodic)
