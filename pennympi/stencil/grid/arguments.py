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


def agreed_decomposition(job: Job, topology: Topology, *given: Any) -> Decomposition:
    """The decomposition that all PEs ask for.  Collective.  Raises TypeError or ValueError on every PE."""
    return on_all(
        job,
        "grid",
        lambda: decomposition_of(topology, *given),
        lambda one: f"{one.shape} points, dims {one.dims}, periodic {one.periodic}, halo {one.halo}",
    )


def decomposition_of(topology: Topology, shape: Any, dims: Any, periodic: Any, halo: Any) -> Decomposition:
    """The decomposition that a user asks for.  Raises TypeError or ValueError."""
    points = _ints("shape", shape, None, 1)
    n = len(points)
    if not 1 <= n <= MOST_DIMENSIONS:
        raise ValueError(f"shape {points}: a grid has 1 to {MOST_DIMENSIONS} dimensions")
    given = (0,) * n if dims is None else _ints("dims", dims, n, 0)
    width = _ints("halo", halo, n, 0)
    around = _flags(periodic, n)
    n_pes = topology.n_pes
    if dims is not None and all(given) and math.prod(given) != n_pes:
        raise ValueError(f"dims {given} are {math.prod(given)} PEs, and the team has {n_pes}: a 0 leaves a number open")
    found = chosen_dims(n_pes, points, given, around, width)
    if found is None:
        asked = f" as dims {given}" if any(given) else ""
        raise ValueError(
            f"a grid of {points} points can't be cut over {n_pes} PEs{asked} so that each PE has a point, and as many in "
            f"each dimension as its neighbours' halo {width} takes: use fewer PEs, a narrower halo, or other dims"
        )
    cut = Decomposition(points, found, around, width)
    return replace(cut, pes=compact_places(topology.nodes, found, cut.most, around))


def _ints(name: str, value: Any, n: int | None, least: int) -> Sizes:
    """Ints of at least ``least`` by dimension.  n: of dimensions, None: any.  Raises TypeError or ValueError."""
    sizes = ints(name, value, n or 1)
    if n is not None and len(sizes) != n:
        raise ValueError(f"{name} {sizes} has {len(sizes)} numbers for {n} dimensions")
    if any(one < least for one in sizes):
        raise ValueError(f"{name} {sizes}: each number is at least {least}")
    return sizes


def _flags(periodic: Any, n: int) -> tuple[bool, ...]:
    """periodic by dimension.  Raises TypeError or ValueError."""
    if isinstance(periodic, bool):
        return (periodic,) * n
    if not isinstance(periodic, Sequence) or not all(isinstance(one, bool) for one in periodic):
        raise TypeError(f"periodic {periodic!r} is not a bool or a sequence of bools")
    if len(periodic) != n:
        raise ValueError(f"periodic {tuple(periodic)} has {len(periodic)} bools for {n} dimensions")
    return tuple(periodic)
