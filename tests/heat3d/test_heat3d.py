"""The example of grids: NumPy's field bit for bit on any number of PEs, its check, checkpoints, its text on a GPU."""

import ast
import re
from collections import Counter
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import h5py
import numpy as np
import pytest
from launch import launch
from mpi4py import MPI
from on_device import device, same
from settled import settled

from apps.heat3d import __main__ as heat3d
from apps.heat3d import blocked, kernels
from pennympi.host.streams import Stream

N_PES = MPI.COMM_WORLD.size
SOURCES = [Path(one.__file__).read_text() for one in (heat3d, kernels)]
CASES = [  # shape, dims, dtype
    ((5, 6, 7 * N_PES), None, "float64"),
    ((4 * N_PES + 1, 9, 33), (0, 1, 1), "float32"),
    ((3, N_PES, 40), (1, 0, 1), "float64"),  # a row for each PE
    ((9, 300, 2 * N_PES), (1, 1, 0), "float32"),  # sides of one column
    ((10 * N_PES, 19, 270), None, "float32"),
]
BOXES = [(4, 5, 4), (6, 9, 7), (5, 8, 18), (7, 6, 19), (6, 7, 20), (5, 5, 21), (10, 40, 66), (6, 33, 65)]  # with halos
SHAPES = [  # shape, dims
    ((4 * N_PES, 11, 30), None),
    ((9, 7 * N_PES, 16), (1, 0, 1)),
    ((3, 3 * N_PES, 17), (1, 0, 1)),
    ((6 * N_PES, 40, 65), (0, 1, 1)),
    ((5, 6, 19 * N_PES), (1, 1, 0)),
]
mpi = pytest.mark.mpi
alone = pytest.mark.skipif(N_PES > 1, reason="one process is enough")


def start_of(shape, dtype):
    """Random points of the whole grid, the same on every PE."""
    return np.random.default_rng(shape).random(shape).astype(dtype)


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


def check(team, grid, dtype, steps, using=None, overlap=True):
    """Compare the field after each number of steps with NumPy's.  using: what stands in for the team and the grid"""
    points = start_of(grid.shape, dtype)
    mine = device(team, points[tuple(slice(f, f + n) for f, n in zip(grid.first, grid.own, strict=True))])
    advance = heat3d.solver(*(using or (team, grid)), mine, overlap=overlap)
    for n in steps:
        found = grid.gather(advance(n))
        alike = found is None or found.tobytes() == reference(points, n).tobytes()
        assert all(team.gather(alike)), (grid, n)


@mpi
@pytest.mark.parametrize("overlap", [True, False])
@pytest.mark.parametrize(("shape", "dims", "dtype"), CASES)
def test_the_field_is_numpys(team, shape, dims, dtype, overlap):
    check(team, team.grid(shape, dims), dtype, (1, 6, 27), overlap=overlap)


class Calls:
    """Stands where a team and a grid stand, on CPUs, and has graphs: the launches of a capture, made again."""

    backend = "cuda"

    def __init__(self, of, calls=None):
        self._of, self.calls = of, calls or SimpleNamespace(captured=None, launches=0)

    def __getattr__(self, name):
        return getattr(self._of, name)

    def do(self, call, *args, **more):
        if self.calls.captured is None:
            call(*args, **more)
        else:
            self.calls.captured.append(partial(call, *args, **more))

    def kernel(self, *args):
        return partial(self.do, self._of.kernel(*args))

    def plan_exchange(self, *fields):
        return partial(self.do, self._of.plan_exchange(*fields))

    def stream(self, priority="normal"):
        stream, calls = Stream(priority), self.calls

        def end():
            captured, calls.captured = calls.captured, None
            return SimpleNamespace(launch=lambda _: launch_all(captured))

        def launch_all(captured):
            calls.launches += 1
            for call in captured:
                call()

        stream.begin_capture, stream.end_capture = lambda: setattr(calls, "captured", []), end
        return stream


@mpi
@pytest.mark.parametrize("overlap", [True, False])
def test_a_graph_on_the_tiles_of_a_gpu(team, overlap):
    """Ten steps a launch; and the kernel that a GPU runs gives the same bits, also for sides of few planes or rows."""
    if team.backend == "cuda":
        pytest.skip("the other tests run graphs there")
    for shape, dims in SHAPES:
        calls = SimpleNamespace(captured=None, launches=0)
        grid = team.grid(shape, dims)
        check(team, grid, "float32", (7, 31, 64), (Calls(team, calls), Calls(grid, calls)), overlap)
        assert calls.launches == 5, "steps 8 to 28, 32 to 62"


@mpi
@pytest.mark.parametrize("halo", [1, 2, 3])
def test_several_steps_of_an_exchange(team, halo):
    for shape in ((halo * N_PES, 9, 20), (8, 11, halo * N_PES + 1)):
        grid = team.grid(shape, halo=halo)
        points = start_of(shape, "float64")
        mine = device(team, points[tuple(slice(f, f + n) for f, n in zip(grid.first, grid.own, strict=True))])
        for n, using in ((1, team), (12, team), (13, team), (7, Calls(team))):  # with the kernel of GPUs on CPUs too
            found = grid.gather(blocked.solve(using, grid, mine, n)[0])
            alike = found is None or found.tobytes() == reference(points, n).tobytes()
            assert all(team.gather(alike)), (grid, n)


@mpi
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", BOXES)
def test_a_box_of_any_place(team, shape, dtype):
    """The points of a box, of any rows, and no others: by the kernel that a GPU runs."""
    points = start_of(shape, dtype)
    old, new = team.zeros(shape, dtype), team.zeros(shape, dtype)
    old[...] = device(team, points)
    launched, stream = kernels.kernels_for(team, old), team.stream()
    stepped = reference(points, 1)
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


@mpi
def test_the_eigenmode_is_one(team):
    grid = team.grid((6, 7, 8 * N_PES))
    whole = grid.zeros()
    grid.interior(whole)[...] = heat3d.eigenmode(grid, 0)
    first = grid.gather(whole)
    grid.interior(whole)[...] = heat3d.eigenmode(grid, 9)
    later = grid.gather(whole)
    assert first is None or np.allclose(reference(first, 9), later, rtol=1e-13)
    team.free(whole)


def run(n_pes, *options, rc=0):
    """The output of the program."""
    ended = launch(n_pes, "-m", "apps.heat3d", *options, env=settled(n_pes), limit_s=150)
    assert ended.rc == rc and not ended.left_alive and not ended.left_in_shm, ended.output
    return ended.output


@alone
@pytest.mark.parametrize("n_pes", [1, 2, 3, 4, 5])
def test_verify(n_pes):
    said = run(n_pes, "--verify", "--nx", "20", "--ny", "21", "--nz", "19", "--niter", "123")
    assert re.search(r"^PASS error: 0\.\d+ of what", said, re.MULTILINE), said
    assert re.search(r"float64 \(20, 21, 19\) over \(\d, \d, \d\) PEs, steps 0 to 123: .* points/s, .* GB/s, .* s", said)


@alone
def test_checkpoints_go_on_elsewhere(tmp_path):
    """A run on 3 ranks, continued on 2, ends with the bits of one without a break; its picture; and FAIL."""
    apart, whole, picture = tmp_path / "apart.h5", tmp_path / "whole.h5", tmp_path / "heat.png"
    options = ("--dtype", "float32", "--nx", "24", "--ny", "18", "--nz", "21")
    run(3, *options, "--niter", "35", "--every", "20", "--checkpoint", str(apart))
    assert h5py.File(apart).attrs["done"] == 35
    said = run(
        2, *options, "--niter", "77", "--checkpoint", str(apart), "--restart", "--plot", str(picture), "--no-overlap"
    )
    assert "steps 35 to 77" in said and picture.read_bytes()[:4] == b"\x89PNG"
    run(1, *options, "--niter", "77", "--checkpoint", str(whole))
    with h5py.File(apart) as one, h5py.File(whole) as other:
        assert one["u"][:].tobytes() == other["u"][:].tobytes() and one.attrs["done"] == other.attrs["done"] == 77
    assert "steps 77 to 77: 0 points/s" in run(1, *options, "--niter", "50", "--checkpoint", str(apart), "--restart")
    assert "FAIL error" in run(2, *options, "--niter", "80", "--checkpoint", str(apart), "--restart", "--verify", rc=1)


@alone
def test_the_command_of_blocks_in_time():
    ended = launch(2, "-m", "apps.heat3d.blocked", env=settled(2), limit_s=150)
    assert ended.rc == 0 and len(re.findall(r"^\d steps an exchange: .* us a step$", ended.output, re.MULTILINE)) == 4


@alone
def test_wrong_options():
    for options in (("--every", "0"), ("--niter", "0"), ("--restart",)):
        assert "are at least 1, and --restart needs --checkpoint FILE" in run(1, *options, rc=2)


@alone
def test_short_and_of_public_names():
    assert [len(source.splitlines()) <= most for source, most in zip(SOURCES, (120, 90), strict=True)] == [True, True]
    trees = [ast.parse(source) for source in SOURCES]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    modules = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    modules |= {node.module for node in nodes if isinstance(node, ast.ImportFrom)}
    public = {"argparse", "math", "matplotlib", "numpy", "pennympi", "pennympi.kernels.block", "time"}
    assert modules == public | {"kernels"}
    assert not [node.attr for node in nodes if isinstance(node, ast.Attribute) and node.attr.startswith("_")]


@alone
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
