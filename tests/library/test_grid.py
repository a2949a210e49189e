"""Grids: their division, and the exchange of halos, compared with NumPy's copies from the whole grid."""

import math
from xml.etree import ElementTree

import h5py
import numpy as np
import pytest
from halo_reference import own_of, with_halos
from on_device import address, device, reaches, to_numpy, write
from refused import refused

from pennympi.kernels.block import Elements, lanes, load, store
from pennympi.stencil.grid import exchange as exchange_room
from pennympi.stencil.grid.layout import layout_of

pytestmark = [pytest.mark.mpi, pytest.mark.hosts(most_pes=8)]
UNTOUCHED = 77
WAYS = {"into the field": 0, "by the inbox": 1 << 40}  # direct_min_bytes


@pytest.fixture(params=WAYS)
def way(request, team, monkeypatch):
    """Let all messages use this way."""
    monkeypatch.setitem(exchange_room.DIRECT_MIN_BYTES, team.backend, WAYS[request.param])
    monkeypatch.setattr(exchange_room, "DIRECT_MIN_LINE_BYTES", 0)


def whole(grid, dtype, k):
    """The points of the whole grid, the same on every PE, in round k."""
    return np.random.default_rng(k).integers(0, 50, grid.shape).astype(dtype)


def wanted(grid, points, corners):
    """The array of this PE after an exchange."""
    return with_halos(grid._parts, grid._context.job.me, points, corners, UNTOUCHED)


class Exchange:
    """Exchange fields of some dtypes, with different points in each round."""

    def __init__(self, team, shape, dtypes=("float64",), corners=False, **options):
        self.grid, self.corners = team.grid(shape, **options), corners
        self.fields = [self.grid.full(UNTOUCHED, dtype) for dtype in dtypes]
        self.plan = self.grid.plan_exchange(*self.fields, corners=corners)

    def check(self, k):
        points_of_fields = [whole(self.grid, u.dtype, 100 * k + i) for i, u in enumerate(self.fields)]
        for u, points in zip(self.fields, points_of_fields, strict=True):
            own = to_numpy(u)
            self.grid.interior(own)[...] = own_of(self.grid, points)
            write(u, own)
        self.plan()
        for u, points in zip(self.fields, points_of_fields, strict=True):
            result, right = to_numpy(u), wanted(self.grid, points, self.corners)
            wrong = np.argwhere(result != right)
            values = [(result[tuple(index)], right[tuple(index)]) for index in wrong[:3]]
            assert not wrong.size, (self.grid, str(u.dtype), k, wrong[:3], values)


def at_least(team, shape, halo):
    """A shape in which every PE has as many points as the halo, for any division of the grid."""
    return tuple(max(n, team.n_pes * h) for n, h in zip(shape, (halo,) * len(shape), strict=True))


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("corners", [False, True])
@pytest.mark.parametrize("halo", [1, 3])
@pytest.mark.parametrize("periodic", [False, True])
@pytest.mark.parametrize("shape", [(53,), (17, 31), (9, 10, 13)])
def test_every_halo(team, shape, periodic, halo, corners):
    exchange = Exchange(team, at_least(team, shape, halo), corners=corners, periodic=periodic, halo=halo)
    exchange.check(0)
    exchange.check(1)


@pytest.mark.usefixtures("way")
def test_cuts_dtypes_and_halos_of_their_own(team):
    """Division along one dimension; all sizes of elements in one plan; faces in several parts; a halo of 0."""
    n, exchanges = team.n_pes, []
    for along in range(3):
        dims, shape = [1, 1, 1], [5, 6, 7]
        dims[along], shape[along] = n, 2 * n + 1
        periodic = [along != 0, along != 1, along == 2]
        exchanges.append(Exchange(team, tuple(shape), dims=dims, halo=(1, 2, 1), periodic=periodic, corners=True))
        assert exchanges[-1].grid.dims == tuple(dims)
    dtypes = ("float16", "uint8", "complex128", "bfloat16", "float32", "int64")
    exchanges.append(Exchange(team, at_least(team, (11, 6, 9), 2), dtypes, halo=2, periodic=True))
    exchanges.append(Exchange(team, (4 * n, 300, 257), ("float32", "float64"), dims=(n, 1, 1), periodic=True))
    exchanges.append(Exchange(team, (8 * n, 5), halo=(1, 0), periodic=True, corners=True))
    exchanges.append(Exchange(team, (8 * n,), halo=0))
    for k in range(8):  # more rounds than an inbox has buffers
        for exchange in exchanges:
            exchange.check(k)


def test_the_parts_are_the_grid(team):
    grid = team.grid((13 + team.n_pes, 7), dims=(0, 1))
    assert grid.dims == (team.n_pes, 1) and math.prod(grid.dims) == team.n_pes
    u = grid.zeros("int32")
    x, y = grid.coordinates()
    inner = grid.interior(u)
    assert u.shape == grid.local and inner.shape == grid.own == (x.shape[0], y.shape[1])
    inner[...] = x * 100 + y
    points = grid.gather(u)
    assert (points is None) is (team.me != 0)
    if points is not None:
        assert (points == np.arange(grid.shape[0])[:, None] * 100 + np.arange(7)).all()
    sides = {side: grid.neighbour(side) for side in ("x-", "x+", "y-", "y+")}
    place = grid.coords[0]
    assert (sides["y-"], sides["y+"]) == (None, None)
    assert (sides["x-"] is None) is (place == 0) and (sides["x+"] is None) is (place == team.n_pes - 1)
    assert grid.boundary(u, "x+").shape == (1, 7) and grid.halo_of(u, "y-").shape == (grid.own[0], 1)


def doubled(ctx, u: Elements, first, n, pitch):
    """Double the first n points of two rows.  first: index of the first row's first element"""
    for row in range(2):
        for i in lanes(first + row * pitch, first + row * pitch + n):
            store(u, i, load(u, i) + load(u, i))


@pytest.mark.parametrize("dtype", ["float32", "uint8", "complex128"])
@pytest.mark.parametrize("halo", [0, 1, 3])
@pytest.mark.parametrize("shape", [(67,), (11, 61), (7, 9, 64)])
def test_rows_are_padded(team, shape, halo, dtype):
    """Rows begin on cache lines, at the same offsets in all heaps; there is a row of memory before and after all rows."""
    item_bytes = np.dtype(dtype).itemsize
    grid = team.grid(at_least(team, shape, halo), halo=halo)
    before, u = len(team._arrays._starts), grid.full(3, dtype)
    pitch = u.strides[-2] if u.ndim > 1 else layout_of(grid._parts, team.me, item_bytes).pitch * item_bytes
    assert u.shape == grid.local and u.strides[-1] == item_bytes and pitch % 64 == 0
    assert u.ndim < 3 or u.strides[0] == u.shape[1] * pitch
    assert address(grid.interior(u)) % 64 == 0
    number, start = team._arrays.locate(address(u), 1)
    nbytes, _ = team._arrays._live[team._arrays._starts[number]]
    assert len(set(team.gather((number, start, nbytes)))) == 1
    lead, rows = -halo * item_bytes % 64, math.prod(grid.local[:-1])
    assert start - lead >= pitch and start - lead + (rows + 1) * pitch <= nbytes
    assert (to_numpy(u) == np.full(grid.local, 3, dtype)).all()
    team.free(u)
    assert len(team._arrays._starts) == before


def test_kernels_and_peers_take_padded_fields(team):
    grid = team.grid((3 * team.n_pes, 5), dims=(team.n_pes, 1))
    u = grid.full(team.me + 1, "float32")
    kernel, pitch = team.kernel(doubled, "float32"), u.strides[0] // 4
    kernel(1, u, pitch + 1, 5, pitch)
    team.synchronize()
    right = np.full(grid.local, team.me + 1)
    right[1:3, 1:6] *= 2
    assert (to_numpy(u) == right).all()
    for gaps in (u[:, 1:], u[::2], grid.interior(u)):
        refused(ValueError, "not contiguous", kernel, 1, gaps, 0, 1, pitch)
    peer = (team.me + 1) % team.n_pes
    team.barrier()
    if reaches(team, u, peer):
        assert (to_numpy(team.peer(u, peer))[1:3] == [peer + 1, *[2 * peer + 2] * 5, peer + 1]).all()


def test_save_and_load_on_the_same_and_another_grid(team, tmp_path):
    path = team.comm.bcast(tmp_path) / "fields.h5"
    grid = team.grid((5 + team.n_pes, 9))
    u, v = grid.full(1, "float32"), grid.zeros("int64")
    x, y = grid.coordinates()
    grid.interior(u)[...] = x + 0.5 * y
    grid.interior(v)[...] = x * 1000 + y
    grid.save(path, u=u, v=v, done=7, seconds=np.float64(0.5), text="as it is")
    reader = team.grid((5 + team.n_pes, 9), dims=(1, team.n_pes), halo=0) if team.n_pes <= 9 else grid
    w = reader.zeros("int64")
    assert reader.load(path, v=w) == {"done": 7, "seconds": 0.5, "text": "as it is"}
    x, y = reader.coordinates()
    assert (to_numpy(reader.interior(w)) == to_numpy(x * 1000 + y)).all()
    for wrong, error in (({"w": w}, "no dataset w"), ({"u": w}, "the field is of")):
        refused(ValueError, error, reader.load, path, **wrong)
    with pytest.raises(OSError):
        reader.load(path.with_name("none.h5"), v=w)
    with pytest.raises(OSError):
        grid.save(path / "no folder" / "x.h5", u=u)


@pytest.mark.parametrize("shape", [(40,), (9, 16), (9, 8, 16)])
def test_an_xdmf_file_names_the_fields_of_a_file(team, tmp_path, shape):
    """Each field with its place, shape and type as in its HDF5 file; a field that ParaView can't read is left out."""
    path = team.comm.bcast(tmp_path) / "a & b.h5"
    shape = at_least(team, shape, 1)
    grid = team.grid(shape, dims=(0, *(1,) * (len(shape) - 1)), halo=0)
    dtypes = {"u": "float64", "v<": "float32", "bytes": "uint8", "whole": "int64", "z": "complex64", "flag": "bool"}
    grid.save(path, **{name: grid.zeros(dtype) for name, dtype in dtypes.items()}, done=3)
    domain = ElementTree.parse(path.with_name("a & b.h5.xdmf")).getroot()[0][0]
    assert domain.find("Topology").get("Dimensions").split() == [str(n) for n in (*(1,) * (3 - len(shape)), *shape)]
    assert [item.text for item in domain.find("Geometry")] == ["0 0 0", "1 1 1"]
    attributes = domain.findall("Attribute")
    assert [field.get("Name") for field in attributes] == ["u", "v<", "bytes", "whole"]
    with h5py.File(path) as file:
        for field in attributes:
            (item,) = field
            name, _, place = item.text.partition(":")
            data = file[place]
            assert name == path.name and place == f"/{field.get('Name')}"
            assert [n for n in map(int, item.get("Dimensions").split()) if n > 1] == list(data.shape)
            assert int(item.get("Precision")) == data.dtype.itemsize
            kind = {"f": "Float", "i": "Int", "u": "UChar"}[data.dtype.kind]
            assert item.get("NumberType") == kind


@pytest.mark.parametrize("split", [True, False])
def test_overlap_gives_every_point_once_and_exchanges(team, split):
    grid = team.grid(at_least(team, (7, 9, 8), 2), halo=2, periodic=(True, False, True))
    u = grid.zeros("float64")
    exchange, points = grid.plan_exchange(u), whole(grid, "float64", 5)
    times = np.zeros(grid.local, int)
    local = np.zeros(grid.local)
    grid.interior(local)[...] = own_of(grid, points)
    with grid.overlap(exchange, split=split) as parts:
        for part in parts:
            assert split or part.points == grid.own
            times[part.slices] += 1
            with part.stream:
                u[part.slices] = device(team, local[part.slices])
            assert tuple(np.array(part.stop) - part.first) == part.points
    assert (grid.interior(times) == 1).all() and times.sum() == math.prod(grid.own)
    right = wanted(grid, points, corners=False)
    right[right == UNTOUCHED] = 0
    team.synchronize()
    assert (to_numpy(u) == right).all()
    with pytest.raises(RuntimeError, match="the field has gaps"), grid.overlap(exchange, split=split) as parts:
        next(parts)


def test_wrong_arguments_are_refused_and_the_team_goes_on(team):
    n = team.n_pes
    for arguments, error in [
        (((4, 4, 4, 4),), "1 to 3 dimensions"),
        (((0, 4),), "at least 1"),
        (((8 * n, 8), (n + 1, 0)), "can't be cut"),
        (((8 * n, 8), (n, 2)), "a 0 leaves a number open"),
        (((8 * n, 8), None, (True,)), "1 bools for 2 dimensions"),
        (((8 * n, 8), None, False, (1, 1, 1)), "3 numbers for 2 dimensions"),
        (((n,), None, True, 2), "a narrower halo"),
    ]:
        refused(ValueError, error, team.grid, *arguments)
    for arguments in (("8",), ((8.5, 2),), (8, None, "yes"), (8, None, False, 1.5)):
        with pytest.raises(TypeError):
            team.grid(*arguments)
    grid = team.grid((8 * n, 5))
    u, w, packed = grid.zeros("float32"), grid.zeros("float32"), team.zeros(grid.local, "float32")
    wider = team.grid((8 * n, 3), dims=(n, 1), halo=(1, 2))
    assert wider.local == grid.local
    v = wider.zeros("float32")
    for wrong in (u[1:], packed, v, device(team, np.zeros(grid.local, "float32"))):
        with pytest.raises(ValueError):
            grid.plan_exchange(wrong)
    team.free(packed)
    team.free(v)
    for fields in ((), (u, u)):
        with pytest.raises(ValueError):
            grid.plan_exchange(*fields)
    for side in ("z-", "x", 0):
        refused(ValueError, "none of x-, x\\+, y-, y\\+", grid.boundary, u, side)
    refused(ValueError, "root", grid.gather, u, n)
    if n > 1:
        refused(ValueError, "must ask for the same grid", team.grid, (8 * n + team.me, 5))
        refused(ValueError, "different fields", grid.plan_exchange, u if team.me else w)
    plan = grid.plan_exchange(u)
    plan()
    team.free(u)
    for call in (plan, lambda: grid.gather(u), lambda: team.kernel(doubled)(1, u, 1, 1, 1)):
        refused(ValueError, "was freed", call)
