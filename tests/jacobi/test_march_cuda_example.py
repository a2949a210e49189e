"""The printed example of a generated warp kernel, apps/jacobi/sweep/march_cuda_example.txt, is what is generated."""

from pathlib import Path

import pytest
from mpi4py import MPI

from apps.jacobi.sweep import march_cuda_source

if MPI.COMM_WORLD.Get_size() > 1:
    pytest.skip("one process is enough: run this test without mpirun", allow_module_level=True)

EXAMPLE = Path(march_cuda_source.__file__).with_name("march_cuda_example.txt")
REGENERATE = "python -m tests.jacobi.test_march_cuda_example"
HEADER = f"""\
# An example to read: the kernel that march_cuda_source.py generates for one sweep a pass (T = 1) of float32,
# with the norm of that sweep, where nx is a multiple of 8.  Nothing imports this file; a test compares it.
# This command writes it:
#     {REGENERATE}
#
# A warp marches down 256 columns, 8 to a lane, and keeps 240 of them; its neighbours keep the others.
# A lane holds 8 columns of three rows: u0_0..u0_7 (above), c0_0..c0_7 (the row itself), d0_0..d0_7 (below).
# The new values of the row are d1_0..d1_7.  Then u0 is free and takes the next row, and the three names
# change roles: the loop is written out for three rows, so that no register is ever copied.
# p0..p3 and q0 add up the lane's squared changes, z0 the warp's, and limb the rows', which is exact.
# With T levels there are such rows for each of them: u0, c0, d0, u1, c1, d1 and so on.
#
# The instructions load_row, store_half, shift_up, shift_down, swap, pick, quarter, fused, limb_of and
# too_large are in march_cuda.py; `first` and `last` say that a lane holds column 0 or nx-1, which stay.

"""


def example():
    """The file's text."""
    return HEADER + march_cuda_source.source(1, "last", "float32", 7, "march")


def test_the_example_is_what_is_generated():
    assert EXAMPLE.read_text() == example(), f"write the example anew: {REGENERATE}"


if __name__ == "__main__":
    EXAMPLE.write_text(example())
