"""The program ``mpirun -np N python -m apps.jacobi``, as a user runs it."""

import json

import h5py
import pytest
from launch import launch
from mpi4py import MPI

if MPI.COMM_WORLD.Get_size() > 1:
    pytest.skip("these tests start their own jobs: run them without mpirun", allow_module_level=True)

LIMIT_S = 120  # the machine may be busy, and has to compile first


def jacobi(n_pes, line, *more, act=None):
    """Run the program to its end.  It must neither hang nor leave processes behind."""
    ended = launch(n_pes, "-m", "apps.jacobi", *line.split(), *map(str, more), limit_s=LIMIT_S, act=act)
    assert ended.rc is not None, f"hangs:\n{ended.output}"
    assert not ended.left_alive
    return ended


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """n_pes -> (JSON, bytes of the field, history as text, output) of one problem, run once for each n_pes."""
    folder, known = tmp_path_factory.mktemp("jacobi"), {}

    def result(n_pes):
        if n_pes not in known:
            files = [folder / f"{n_pes}.{ending}" for ending in ("json", "h5")]
            line = "--nx 101 --ny 75 --niter 120 --nccheck 7 --verify --json"
            ended = jacobi(n_pes, line, files[0], "--output", files[1])
            assert ended.rc == 0, ended.output
            numbers = json.loads(files[0].read_text())
            with h5py.File(files[1]) as h5:
                field, norms = h5["field"][:].tobytes(), h5["residual/norm"][:].tolist()
                assert h5.attrs["iterations"] == 120 and h5["field"].shape == (75, 101)
            assert norms == [norm for _, norm in numbers["history"]]
            known[n_pes] = numbers, field, json.dumps(numbers["history"]), ended.output
        return known[n_pes]

    return result


@pytest.mark.parametrize("n_pes", [2, 3, 8])
def test_same_bits_on_any_number_of_pes(results, n_pes):
    _, field, history, _ = results(n_pes)
    assert field == results(1)[1]
    assert history == results(1)[2]


def test_report(results):
    numbers, _, _, output = results(2)
    lines = output.splitlines()
    assert lines[0] == "Single GPU jacobi relaxation: 50 iterations on 75 x 101 mesh with norm check every 7 iterations"
    assert "Jacobi relaxation: 120 iterations on 75 x 101 mesh with norm check every 7 iterations" in lines
    assert sum(line.startswith("    0, ") for line in lines) == 2 and any(line.startswith("  100, ") for line in lines)
    assert "Num GPUs: 2." in lines
    assert any(line.startswith("75x101: 1 GPU: ") and ", efficiency: " in line for line in lines)
    assert [line for line in lines if line.startswith("PASS")] == lines[-1:]
    assert numbers["problem"]["nx"] == 101 and numbers["environment"]["n_pes"] == 2
    assert numbers["verification"]["points_that_differ"] == 0
    for name in ("runtime_s", "glups", "effective_bandwidth_GBps", "share_of_copy", "exchange_us"):
        assert numbers[name] > 0
    assert numbers["serial"]["measured"] == 50 and numbers["serial"]["of"] == 120


def test_csv_is_one_line():
    ended = jacobi(2, "--nx 40 --ny 30 --niter 20 --nccheck 5 --csv --verify")
    assert ended.rc == 0 and ended.output.count("\n") == 1, ended.output
    fields = ended.output.strip().split(", ")
    assert fields[:7] == ["pennympi", "40", "30", "20", "5", "2", "1"]
    assert len(fields) == 9 and all(float(seconds) > 0 for seconds in fields[7:])


def test_picture_profile_and_convergence(tmp_path):
    pytest.importorskip("matplotlib")
    name, picture = tmp_path / "a.json", tmp_path / "a.png"
    line = "--nx 30 --ny 33 --dtype float64 --bc periodic --method chebyshev --must-converge --verify analytic --profile"
    ended = jacobi(3, line, "--plot", picture, "--json", name)
    assert ended.rc == 0 and "the norm is at most --tol" in ended.output and "PASS" in ended.output, ended.output
    assert "of it not hidden by compute" in ended.output and "One PE alone" in ended.output
    assert picture.read_bytes()[:4] == b"\x89PNG"
    assert sorted(one.name for one in tmp_path.iterdir()) == ["a.json", "a.png"]
    numbers = json.loads(name.read_text())
    assert numbers["reason"] == "converged" and numbers["iterations"] < 200 and numbers["variant"] == "chebyshev"
    assert numbers["verification"]["check"] == "analytic" and numbers["verification"]["from_steady_state"] < 1e-7
    assert len(numbers["phases"]) == 3


def test_a_folder_that_goes_away_costs_its_files_only(tmp_path):
    pytest.importorskip("matplotlib")
    folder = tmp_path / "here"
    folder.mkdir()
    names = {one: folder / f"a.{one}" for one in ("output", "plot", "json")}
    line = [word for one, path in names.items() for word in (f"--{one}", path)]
    act = ("    0, ", lambda _: folder.rename(tmp_path / "there"))
    ended = jacobi(2, "--nx 500 --ny 500 --niter 300 --nccheck 50 --verify residual", *line, act=act)
    assert ended.rc == 1 and "Traceback" not in ended.output, ended.output
    assert "Stopped after 300 iterations" in ended.output and "PASS" in ended.output
    for one, path in names.items():
        sentence = f"jacobi: error: --{one} {path} could not be written: no such file or directory\n"
        assert ended.output.count(sentence) == 1, ended.output


def test_help_once():
    ended = jacobi(2, "--help")
    assert ended.rc == 0 and ended.output.count("usage:") == 1 and "--nccheck" in ended.output


def test_installed_name():
    ended = launch(2, "-m", "pennympi.apps.jacobi", *"--nx 16 --ny 16 --dry-run".split(), limit_s=LIMIT_S)
    assert ended.rc == 0 and " on 2 PEs (" in ended.output, ended.output
