"""The options of ``python -m apps.jacobi``; bad options give one line, status 2 on every rank, and no traceback."""

import pytest
from launch import launch

from apps.jacobi.options import parse
from apps.jacobi.problem import Problem
from apps.program.outcome import STATUSES, Outcome


class OnePE:
    """A communicator with the attributes and methods that the command line uses."""

    rank, size = 0, 1

    def bcast(self, x):
        return x


class FivePEs(OnePE):
    size = 5


LONG = "x" * 300
BAD = {
    # Numbers
    "--nx 2": "--nx: 2 is not between 3 and 2147483647",
    "--nx 1.5": "--nx: '1.5' is not a whole number",
    "--niter 0": "--niter: 0 is not between 1",
    "--nccheck -3": "--nccheck",
    "--tol -1": "--tol: -1 is not a number >= 0",
    "--tol nan": "--tol: nan is not a number >= 0",
    "--checkpoint x.h5 --checkpoint-every 0": "--checkpoint-every",
    # Names
    "--backend tpu": "--backend: invalid choice: 'tpu'",
    "--variant NVSHMEM": "--variant: invalid choice: 'NVSHMEM'",
    "--verify everything": "--verify: invalid choice: 'everything'",
    "--fast": "unrecognized arguments: --fast",
    # Sizes, and options that exclude each other
    "--ny 6": "4 inner rows (ny - 2) cannot be shared by 5 PEs: use a larger --ny or fewer PEs",
    "--nx 2147483647 --ny 2147483647": "exact for at most 17179869184: use a smaller --nx or --ny",
    "--variant device --timeline x.svg": "--variant device has no exchange of its own: leave --timeline out",
    "--restart": "takes the file of --checkpoint",
    "--output same.h5 --checkpoint ./same.h5": "take another name for one of them",
    # Files
    "--output /nowhere/x.h5": "--output /nowhere/x.h5 cannot be written: no such file or directory",
    "--output /dev/null": "--output /dev/null cannot be written: it is not a regular file",
    "--plot /proc/x.png": "--plot",
    f"--checkpoint {LONG}": "cannot be written: file name too long",
    "--restart /nowhere.h5": "--restart /nowhere.h5: no such file or directory",
}


@pytest.mark.parametrize("line", BAD)
def test_bad_arguments_are_one_line(line, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as stop:
        parse(FivePEs(), line.split())
    assert stop.value.code == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ") and error.count("\n") == 1 and BAD[line] in error
    assert not list(tmp_path.iterdir())


def test_good_arguments(capsys):
    line = "--nx 64 --ny 32 --dtype float64 --bc periodic --csv --verify"
    options, problem, outcome = parse(OnePE(), line.split())
    assert problem == Problem(64, 32, 1000, 1e-8, 1, "float64", "periodic") and outcome == Outcome()
    assert (options.csv, options.verify, options.variant, options.restart) == (True, "serial", "nvshmem_overlap", None)
    options, _, _ = parse(OnePE(), "--checkpoint not_there.h5 --restart --verify analytic".split())
    assert (options.restart, options.verify) == (None, "analytic")
    with pytest.raises(SystemExit) as stop:
        parse(OnePE(), ["--help"])
    text = capsys.readouterr().out
    assert stop.value.code == 0 and "--nccheck" in text
    assert all(meaning in text for meaning in STATUSES.values())


def test_bad_arguments_end_every_rank():
    ended = launch(2, *"-m apps.jacobi --backend host --variant single".split(), limit_s=60)
    assert ended.rc == 2 and not ended.left_alive, ended.output
    assert ended.output == "error: --variant single cannot run here: it is for one PE, and there are 2\n"
