"""The blocks of a pass: which points they compute, which of them wait for halos, and which exchange them."""

from random import Random

import numpy as np
import pytest
from sweep_reference import FORMULAS

from pennympi.compile.pass_kernel import Storage
from pennympi.kernels.sweep.norm import MAX_GROUPS
from pennympi.kernels.sweep.records import Box
from pennympi.stencil.on_gpu.chunks import cut_into_chunks, pass_launch
from pennympi.stencil.on_gpu.march import cutting
from pennympi.stencil.on_gpu.march.rows import NO_WALL, March, first_column
from pennympi.stencil.on_gpu.warp.warp import LANES


@pytest.mark.parametrize(
    ("chunk", "depth", "wait", "exchanging"),
    [(36, 8, 18, (10, 128)), (6, 3, 16, (10, 128)), (12, 8, 18, (64, 128)), (36, 8, None, (32, 32))],
    ids=["spared many points", "spared half", "spared few points", "in turns"],
)
def test_blocks_help_those_that_wait(chunk, depth, wait, exchanging):
    """Five blocks a chunk, of which those of the two chunks at the ends wait."""
    cut, waiting = cut_into_chunks(2048, chunk, 0, depth, (1, 1), wait)
    launch = pass_launch(128, cut, 5, waiting, False, wait is not None)
    assert launch.n_waiting == 10 and launch.most_exchanging == exchanging


class PassOfWarps:
    """The launch of a pass of two dimensions on a part of a grid.

    sides:  1 for each side (y0, y1, z0, z1) with a neighbour, else 0
    across: number of warps side by side
    """

    def __init__(self, dtype, depth, shape, sides, processors, lead=0):
        self.march = March(FORMULAS["2-D"].stencil(dtype), depth, "none", NO_WALL)
        self.box, self.sides = Box(0, 1, depth, depth + shape[0], depth, depth + shape[1]), Box(0, 0, *sides)
        self.launch = cutting.launch(self.march)(self.box, self.sides, Storage(lead, 0, 0, processors))
        self.origin = first_column(self.march.width, self.box, lead)
        self.across = -(-(self.box.z1 - self.origin) // self.march.keeps)

    def reads_halo(self, place, first, n):
        """True if a warp's part needs points of a neighbour."""
        box, sides, depth = self.box, self.sides, self.march.depth
        left, right = (self.origin + k * self.march.keeps for k in (place, place + 1))
        of_rows = sides.y0 and first - depth < box.y0 or sides.y1 and first + n + depth > box.y1
        return of_rows or sides.z0 and max(left, box.z0) - depth < box.z0 or sides.z1 and right + depth > box.z1


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_warps_compute_each_point_once_and_wait_for_halos(dtype):
    random = Random(dtype)
    for _ in range(150):
        depth, sides = random.randint(1, 8), [random.randint(0, 1) for _ in range(4)]
        shape = [random.choice(sizes) + random.randint(0, 300) for sizes in ([8, 900, 9000], [8, 300, 2000])]
        case = PassOfWarps(dtype, depth, shape, sides, random.choice([1, 12, 132]), random.randint(0, 7))
        launch, used, computed = case.launch, set(), np.zeros((shape[0], case.across), int)
        waiting = range(launch.first_waiting, launch.first_waiting + launch.n_waiting)
        for number in range(launch.blocks * cutting.WARPS):
            place, first, n = cutting.part_of_warp(launch.cut, case.box, case.across, number)
            computed[first - depth : first - depth + n, place] += 1
            if n:
                used.add(number // cutting.WARPS)
                assert case.box.y0 <= first and first + n <= case.box.y1 and n * LANES <= MAX_GROUPS
                assert number // cutting.WARPS in waiting or not case.reads_halo(place, first, n)
        assert (computed == 1).all() and used == set(range(launch.blocks)) and waiting.stop <= launch.blocks


def test_few_blocks_wait_where_columns_are_cut():
    """All blocks run at a time, and chunks that wait have fewer rows."""
    launch = PassOfWarps("float32", 8, (4096, 2048), (1, 1, 0, 1), 132).launch
    assert (launch.cut.chunk, launch.cut.edge_chunk) == (39, 21) and launch.at_a_time
    assert (launch.n_waiting, launch.first_waiting, launch.blocks) == (53, 0, 261)
