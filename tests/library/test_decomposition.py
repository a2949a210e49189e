"""The division of a grid into parts, and of a part into the boxes that are swept while its halo travels."""

import math

import numpy as np
import pytest

from pennympi.kernels.algorithm import Topology
from pennympi.stencil.grid.arguments import decomposition_of
from pennympi.stencil.grid.decomposition import Decomposition
from pennympi.stencil.grid.overlap import boxes_of


def test_pes_of_a_node_have_a_compact_part():
    """16 PEs on 4 nodes get blocks of 2 x 2, for any order of the nodes' PEs."""
    topology = Topology(tuple(pe % 4 for pe in range(16)))
    grid = decomposition_of(topology, (64, 64), None, False, 1)
    assert grid.dims == (4, 4) and sorted(grid.pes) == list(range(16))
    for node in range(4):
        places = [grid.place(pe) for pe in topology.nodes[node]]
        assert [max(along) - min(along) for along in zip(*places, strict=True)] == [1, 1]
    uneven = decomposition_of(Topology((0, 0, 1)), (9, 9), None, False, 1)
    assert uneven.pes == (0, 1, 2) and uneven.dims == (3, 1)


@pytest.mark.parametrize(
    ("shape", "dims", "halo", "edges"),
    [
        ((10, 100), (3, 3), 1, ((0, 4, 7, 10), (0, 32, 64, 100))),
        ((25,), (3,), 1, ((0, 8, 16, 25),)),
        ((31,), (2,), 15, ((0, 16, 31),)),
        ((31,), (3,), 9, ((0, 11, 21, 31),)),  # by points, since 8 points are fewer than the halo
        ((4, 22), (1, 3), 2, ((0, 4), (0, 8, 15, 22))),  # by points, since there are fewer than 3 groups
        ((7, 5), (2, 1), 1, ((0, 4, 7), (0, 5))),
    ],
)
def test_parts_begin_at_groups_along_the_last_dimension(shape, dims, halo, edges):
    grid = decomposition_of(Topology((0,) * math.prod(dims)), shape, dims, False, halo)
    pes = range(math.prod(dims))
    assert grid.edges == edges and grid.cuts_groups is any(first % 8 for first in edges[-1][:-1])
    assert [grid.first(pe) for pe in pes] == [
        tuple(e[k] for e, k in zip(edges, grid.place(pe), strict=True)) for pe in pes
    ]
    own = np.array([grid.own(pe) for pe in pes])
    assert grid.most == tuple(own.max(0))
    assert own.prod(1).sum() == math.prod(shape)


def test_grids_are_cut_so_that_norms_work_if_possible():
    for shape, n_pes, dims in ((64, 16), 4, (4, 1)), ((16, 64), 4, (1, 4)), ((40, 30), 7, (7, 1)), ((30, 40), 7, (7, 1)):
        assert decomposition_of(Topology((0,) * n_pes), shape, None, False, 1).dims == dims


@pytest.mark.parametrize("halo", [1, 3, 8, 9])
@pytest.mark.parametrize("points", [16, 19, 83])
def test_boxes_of_sides_hold_each_point_once(points, halo):
    grid = Decomposition((20, 3 * points), (1, 3), (False, True), (1, halo), (0, 1, 2))
    for pe in range(3):
        (rows, columns), times = grid.own(pe), np.zeros(grid.local(pe), int)
        for first, stop in boxes_of(grid, pe):
            times[first[0] : stop[0], first[1] : stop[1]] += 1
        assert (times[1:-1, halo:-halo] == 1).all() and times.sum() == rows * columns
