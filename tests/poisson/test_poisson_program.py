"""The program by its command line, and its bar of progress."""

import sys
from types import SimpleNamespace

import h5py
import pytest
from launch import launch

from apps.program import progress


def run(n_pes, line):
    return launch(n_pes, "-m", "apps.poisson", *line.split(), limit_s=120)


def test_verify_and_output(tmp_path):
    ended = run(2, f"--shape 15x16x15 --periodic y --verify --output {tmp_path}/u.h5")
    assert ended.rc == 0, ended.output
    assert "\nPASS: root mean square of the error " in ended.output
    with h5py.File(tmp_path / "u.h5") as file:
        assert file["u"].shape == (15, 16, 15) and file["u"][:].max() > 0.0


BAD = {
    "--shape 5": "invalid shape value: '5'",
    "--shape 9x9 --periodic z": "--periodic must be made of the letters xy, got z",
    "--niter 0": "0 is not between 1 and",
    "--shape 9x9 --periodic yx": "let one of them have ends",
    "--shape 2x4194305": "give at most 4194304 points in the last dimension",
}


@pytest.mark.parametrize("line", BAD)
def test_bad_options(line, capsys):
    from mpi4py import MPI

    from apps.poisson.__main__ import options

    with pytest.raises(SystemExit, match="2"):
        options(MPI.COMM_SELF, line.split())
    assert BAD[line] in capsys.readouterr().err


@pytest.mark.parametrize("terminal", [True, False])
def test_a_long_solve_shows_progress_on_a_terminal_only(monkeypatch, terminal):
    bars = []

    class Bar:
        def __init__(self, total, **options):
            self.total, self.n, self.text = total, 0, ""
            bars.append(self)

        def set_postfix_str(self, text, refresh):
            self.text = text

        def update(self, n):
            self.n += n

        def close(self):
            self.total = None

    monkeypatch.setitem(sys.modules, "tqdm", SimpleNamespace(tqdm=Bar))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal, raising=False)
    of_pe_0, of_pe_1 = progress.Progress(0, 100), progress.Progress(1, 100)
    of_pe_0.show(10, 0.5)
    assert not bars, "the solve is short so far"
    monkeypatch.setattr(progress, "SILENT_S", 0.0)
    for iterations in (20, 30):
        of_pe_0.show(iterations, 0.25)
        of_pe_1.show(iterations, 0.25)
    assert [(bar.total, bar.n, bar.text) for bar in bars] == [(100, 30, "residual 2.5e-01")] * terminal
    of_pe_0.close()
    assert [bar.total for bar in bars] == [None] * terminal
