"""The example of grids: NumPy's field bit for bit on any number of PEs, its check, checkpoints, its text on a GPU."""

import re
import runpy
import sys
from collections import Counter
from types import SimpleNamespace

import h5py
import numpy as np
import pytest
from mpi4py import MPI
from on_device import device, same, to_numpy

import pennympi
from apps.heat3d import __main__ as heat3d
from apps.heat3d import blocked, kernels

COMM = MPI.COMM_WORLD
N_PES = COMM.size
CASES = [  # shape, dims, dtype
    ((5, 6, 7 * N_PES), None, "float64"),
    ((4 * N_PES + 1, 9, 33), (0, 1, 1), "float32"),
    ((3, N_PES, 40), (1, 0, 1), "float64"),  # a row for each PE
    ((9, 300, 2 * N_PES), (1, 1, 0), "float32"),  # sides of one column
    ((10 * N_PES, 19, 270), None, "float32"),
]
BOXES = [((4, 5, 4), "float64"), ((6, 7, 20), "float64")]  # shape with halos, dtype
BOXES += [((5, 8, 18), "float32"), ((7, 6, 19), "float32"), ((6, 33, 65), "float32")]
mpi = pytest.mark.mpi


def start_of(shape, dtype):
    """Random points of the whole grid, the same on every PE."""
    return np.random.default_rng(shape).random(shape).astype(dtype)


def part_of(team, grid, points):
    """This PE's own points, on its device."""
    return device(team, points[tuple(slice(f, f + n) for f, n in zip(grid.first, grid.own, strict=True))])


def reference(u, n):
    """The field after n steps, by NumPy."""
    u = np.pad(u, 1)
    for _ in range(n):
        x = u[:-2, 1:-1, 1:-1] + u[2:, 1:-1, 1:-1]
        y = u[1:-1, :-2, 1:-1] + u[1:-1, 2:, 1:-1]
        z = u[1:-1, 1:-1, :-2] + u[1:-1, 1:-1, 2:]
        here = u[1:-1, 1:-1, 1:-1]
        u = np.pad(u.dtype.type(0.125) * (((x + y) + z) + (here + here)), 1)
    return u[1:-1, 1:-1, 1:-1]


def assert_numpys(team, grid, field, points, n):
    found = grid.gather(field)
    assert all(team.gather(found is None or found.tobytes() == reference(points, n).tobytes())), (grid, n)


@mpi
@pytest.mark.parametrize("overlap", [True, False])
@pytest.mark.parametrize(("shape", "dims", "dtype"), CASES)
def test_the_field_is_numpys(team, shape, dims, dtype, overlap):
    grid, points = team.grid(shape, dims), start_of(shape, dtype)
    advance = heat3d.solver(team, grid, part_of(team, grid, points), overlap=overlap)
    for n in (1, 6, 27):
        assert_numpys(team, grid, advance(n), points, n)


@mpi
@pytest.mark.parametrize("halo", [1, 2, 3])
def test_several_steps_of_an_exchange(team, halo):
    for shape in ((halo * N_PES, 9, 20), (8, 11, halo * N_PES + 1)):
        grid, points = team.grid(shape, halo=halo), start_of(shape, "float64")
        for n in (1, 12, 13):
            field, _ = blocked.solve(team, grid, part_of(team, grid, points), n)
            assert_numpys(team, grid, field, points, n)


@pytest.mark.parametrize(("shape", "dtype"), BOXES)
def test_a_box_of_any_place(team, shape, dtype):
    """The points of a box, of any rows, and no others: by the kernel that a GPU runs."""
    points = start_of(shape, dtype)
    old, new = team.array(points), team.zeros(shape, dtype)
    launched, stream, stepped = kernels.kernels_for(team, old), team.stream(), reference(points, 1)
    firsts = [(h, h, h) for h in (1, 2, 3)] + [(1, 2, 1), (2, 1, 3), (1, 3, 2)]
    lasts = [(1, 1, 1), (2, 2, 2), (3, 1, 1), (1, 2, 3)]
    boxes = [(f, tuple(n - b for n, b in zip(shape, last, strict=True))) for f in firsts for last in lasts]
    boxes += [((1, 1, 1), (2, shape[1] - 1, shape[2] - 1)), ((1, 1, 1), (shape[0] - 1, 2, shape[2] - 1))]
    for first, stop in boxes:
        if any(low >= high for low, high in zip(first, stop, strict=True)):
            continue
        new[...] = -1
        team.synchronize()
        kernels.compute(SimpleNamespace(backend="cuda"), launched, new, old, first, stop, stream)
        team.synchronize(stream)
        inside = tuple(slice(low, high) for low, high in zip(first, stop, strict=True))
        wanted = np.full_like(points, -1)
        wanted[inside] = stepped[inside]
        assert same(new, wanted), (first, stop)
    team.free(old)
    team.free(new)


@pytest.fixture
def run(team, monkeypatch, capfd):  # the team of the session comes first, as others are parts of it
    def program(module, *options):
        """(exit status, what was printed) of the program on these ranks."""
        monkeypatch.setattr(sys, "argv", ["heat3d", *map(str, options)])
        status = 0
        try:
            runpy.run_module(module, run_name="__main__")
        except SystemExit as ended:
            status = ended.code
        COMM.Barrier()
        return status, "".join(capfd.readouterr())

    return program


@mpi
@pytest.mark.filterwarnings("ignore:.*found in sys.modules")
def test_the_program(team, run, tmp_path):
    """Its check; a run that goes on, here and on one PE, has the bits of one without a break; its picture; and FAIL."""
    pytest.importorskip("matplotlib")
    path, picture = COMM.bcast(tmp_path / "run.h5"), COMM.bcast(tmp_path / "heat.png")
    grid = ("--nx", 20, "--ny", 21, "--nz", 2 * N_PES + 13)
    status, said = run("apps.heat3d", *grid, "--verify", "--niter", 123)
    assert status == 0 and (team.me or re.search(r"^PASS error: 0\.\d+ of what", said, re.MULTILINE)), said
    run("apps.heat3d", *grid, "--niter", 35, "--every", 20, "--checkpoint", path)
    status, said = run(
        "apps.heat3d", *grid, "--niter", 57, "--checkpoint", path, "--restart", "--no-overlap", "--plot", picture
    )
    assert status == 0 and (team.me or ("steps 35 to 57: " in said and picture.read_bytes()[:4] == b"\x89PNG")), said
    with h5py.File(path) as file:
        assert file.attrs["done"] == 57
    with pennympi.init(MPI.COMM_SELF) as one:
        whole = one.grid((20, 21, 2 * N_PES + 13))
        u = whole.zeros("float64")
        done = whole.load(path, u=u)["done"]
        x, y, z = ((i + 0.5) / n for i, n in zip(whole.coordinates(), whole.shape, strict=True))
        ball = ((x - 0.4) ** 2 + (y - 0.4) ** 2 + (z - 0.6) ** 2 < 0.05).astype("float64")
        assert_numpys(one, whole, heat3d.solver(one, whole, whole.interior(u), done)(77), to_numpy(ball), 77)
    COMM.Barrier()
    status, said = run("apps.heat3d", *grid, "--niter", 60, "--checkpoint", path, "--restart", "--verify")
    assert status and (team.me or "FAIL error" in said), said
    for options in (("--every", "0"), ("--niter", "0"), ("--restart",)):
        assert run("apps.heat3d", *options)[0] == 2
    status, said = run("apps.heat3d.blocked")
    assert status == 0 and len(re.findall(r"^\d steps an exchange: .* us a step$", said, re.M)) == 4 * (team.me == 0)


@pytest.mark.parametrize(
    ("dtype", "row", "accesses"),
    [
        ("float32", 514, {"ld.v4": 3, "ld.v2": 4, "ld": 2, "st.v4": 1, "st": 4}),
        ("float32", 516, {"ld.v4": 5, "ld": 2, "st.v4": 1, "st": 4}),
        ("float32", 513, {"ld": 22, "st": 8}),
        ("float64", 514, {"ld.v2": 10, "ld": 2, "st.v2": 2, "st": 4}),
    ],
)
def test_the_kernel_on_a_gpu(monkeypatch, dtype, row, accesses):
    """Loads of 16 bytes, and for the y neighbours of as many as their rows allow, before the stores; no local memory."""
    pytest.importorskip("numba_cuda", reason="numba-cuda is not installed")
    from numba.cuda import dispatcher

    from pennympi.arrays.dtypes import TABLE
    from pennympi.compile.options import KernelOptions
    from pennympi.cuda import compile as backend

    monkeypatch.setattr(dispatcher, "get_current_device", lambda: SimpleNamespace(compute_capability=(9, 0)))
    kernel, options = kernels.by_fours(row * row, row, TABLE[dtype].item_bytes), KernelOptions(elements=TABLE[dtype])
    function, signature = backend.entry(kernel, "step_by_fours", options, backend.Target((9, 0)))
    code = backend.ptx(function, signature, (9, 0))
    found = [kind + width for kind, width in re.findall(r"(ld|st)\.global(\.v\d)?\.f\d\d", code)]
    assert Counter(found) == accesses
    assert "st ld" not in " ".join(one[:2] for one in found)
    assert ".local" not in code
