"""Times that decide what later runs do: measured until the order is stable, refused where the PEs share their cores."""

import argparse
import itertools
import os

import pytest

from pennympi.bench.stable import MOST_ROUNDS, crowded, reversed_pair, until_stable
from pennympi.command import tune
from pennympi.command.ended import FAILED, WRONG_USE, Ended
from pennympi.selection import table_file


def test_an_order_that_changed():
    assert reversed_pair({"ring": 1.0, "tree": 2.0}, {"ring": 3.0, "tree": 2.0}) == ("ring", "tree")
    assert reversed_pair({"ring": 1.0, "tree": 2.0}, {"ring": 10.0, "tree": 20.0}) is None, "slower, in the same order"
    assert reversed_pair({"ring": 1.0, "tree": 1.1}, {"ring": 1.1, "tree": 1.0}) is None, "too close to call"
    assert reversed_pair({"ring": 1.0, "tree": 2.0}, {"ring": 1.1, "tree": 1.0}) is None, "clear before, not after"
    assert reversed_pair({"ring": 1.0}, {"ring": 9.0}) is None


def rounds(*times):
    """A ``measure`` that returns these, one after another, and the list of those it has returned."""
    left, taken = iter(times), []

    def measure():
        taken.append(dict(zip(("ring", "tree"), next(left), strict=True)))
        return taken[-1]

    return measure, taken


def test_two_rounds_that_agree_are_enough():
    measure, taken = rounds((1.0, 2.0), (3.0, 4.0))
    assert until_stable(measure) == ({"ring": 2.0, "tree": 3.0}, True)
    assert len(taken) == 2


def test_a_disturbed_round_is_measured_again():
    measure, taken = rounds((9.0, 2.0), (1.0, 2.0), (1.2, 2.0))
    assert until_stable(measure) == ({"ring": 1.2, "tree": 2.0}, True)
    assert len(taken) == 3


def test_it_ends():
    measure, taken = rounds(*itertools.islice(itertools.cycle([(1.0, 2.0), (2.0, 1.0)]), 50))
    assert until_stable(measure)[1] is False
    assert len(taken) == MOST_ROUNDS


def parsed(*words):
    parser = argparse.ArgumentParser()
    tune.arguments(parser)
    return parser.parse_args(["-b", "1K", "-e", "4K", "-d", "float32", "--budget-ms", "0.1", *words])


@pytest.mark.mpi(min_size=2)
def test_pes_that_share_cores_are_refused(team, monkeypatch, tmp_path):
    if team.backend == "cuda":
        pytest.skip("on GPUs it is the devices that may be shared")
    path = tmp_path / "tuned.toml"
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(team.n_pes)))
    assert crowded(team) == ""
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(team.n_pes - 1)))
    assert crowded(team).startswith(f"{team.n_pes} PEs share the {team.n_pes - 1} cores of ")
    with pytest.raises(Ended, match="start fewer ranks, or give --anyway") as end:
        tune.run(parsed("--output", str(path)))
    assert end.value.status == WRONG_USE and not path.exists()


@pytest.mark.mpi(min_size=2)
def test_an_order_that_does_not_settle_is_not_written(team, monkeypatch, tmp_path, capsys):
    path, turn = tmp_path / "tuned.toml", itertools.count()

    def disturbed(runner, ours, nbytes):
        fast = next(turn) % len(ours)
        return {one.name: 1.0 if number == fast else 50.0 for number, one in enumerate(ours)}

    monkeypatch.setattr(tune, "_once", disturbed)
    monkeypatch.setattr(tune, "crowded", lambda team: "")
    with pytest.raises(Ended, match=r"changed from one measurement to the next at 2 of 2 sizes \(1 KiB float32") as end:
        tune.run(parsed("--output", str(path)))
    assert end.value.status == FAILED and not path.exists()
    assert tune.run(parsed("--output", str(path), "--anyway")) == 0
    if team.me == 0:
        assert "changed from one measurement to the next" in table_file.read(path).note
        assert "changed from one measurement to the next" in capsys.readouterr().out
