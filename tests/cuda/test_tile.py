"""The kernel of tiles in registers as PTX: all is inlined, nothing lies in local memory, packets travel by 16 bytes."""

import re

import pytest

from pennympi.arrays.dtypes import TABLE as DTYPES
from pennympi.compile.options import KernelOptions
from pennympi.cuda import compile as backend
from pennympi.cuda.gpu import without_device
from pennympi.cuda.sweep.tile import resident, tiles_of
from pennympi.grid.decomposition import Decomposition
from pennympi.kernels.block import real
from pennympi.kernels.sweep.formula import Stencil

HOPPER = (9, 0)


def heat(here, south, north, west, east, rate, kappa):
    return here + rate * kappa * ((east + west) + (north + south) - real(4.0) * here)


@pytest.mark.parametrize(("dtype", "norms"), [("float32", "every"), ("float64", "last")])
def test_tile(dtype, norms):
    parts = Decomposition((60, 101), (1, 1), (True, False), (1, 1), (0,))
    stencil = Stencil(heat, 2, dtype, 1, True)
    made = resident(stencil, parts, 0, 2, norms, 16)
    assert made.blocks <= 16 and made.threads % 32 == 0
    assert len(made.tables(1 << 20, [0])) == 32 * made.blocks
    options = KernelOptions(elements=DTYPES[dtype], bounds=made.bounds, fused=False, shared_bytes=made.shared_bytes)
    function, signature = backend.entry(made.kernel, "sweep", options, backend.Target(HOPPER))
    with without_device(HOPPER):
        code = backend.ptx(function, signature, HOPPER, made.bounds, fused=False)
    assert not re.search(r"\bcall\b|\.local\b", code)
    assert "st.volatile.global.v4.u32" in code and "ld.volatile.global.v4.u32" in code
    assert "red.global.add.u64" in code


def test_no_tiles():
    parts = Decomposition((3000, 3000), (1, 1), (False, False), (1, 1), (0,))
    assert tiles_of(Stencil(heat, 2, "float32", 1, True), parts, 0, 4, 132) is None
    assert tiles_of(Stencil(heat, 3, "float32", 1, True), parts, 0, 4, 132) is None
