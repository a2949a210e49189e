"""Wrong command lines of python -m pennympi: one sentence on rank 0, status 2 on all, before anything is measured."""

import argparse
import os
import re
import subprocess
import sys
from importlib import import_module

import pytest
from launch import ROOT, launch
from settled import settled

import pennympi
from pennympi.__main__ import COMMANDS, main
from pennympi.command import bench, report
from pennympi.compile import cache

B = "bench allreduce"
WRONG = [  # (command line, the message)
    ("report --json", "unrecognized arguments: --json"),
    (f"{B} -n 0", "-n/--iters: '0' is not a whole number from 1 to 1000000"),
    (f"{B} -b 1Q", "-b/--minbytes: '1Q' is not a size from 1 to 65536G, "),
    (f"{B} -b 64K -e 1K", "sizes from 64 KiB to 1 KiB by a factor of 4: "),
    (f"{B} -e 60000G", "need .* of memory, and .* are free: give smaller sizes"),
    (f"{B} -b 1 -e 1G -i 1", "sizes from 1 B to 1 GiB by adding 1 B are more than 1000"),
    (f"{B} -f nan", "'nan' is not a number"),
    (f"{B} --budget-ms 0", "'0' is not a number from 0.01"),
    (f"{B} -d float33", "dtype 'float33' is unknown: use all, or some of"),
    (f"{B} -c yes", "-c/--check: 'yes' is not a whole number from 0 to 1"),
    (f"{B} -r 99", "--root 99 is not one of the 1 ranks: give one from 0 to 0"),
    ("bench broadcast --place out", "--place out: broadcast has no such form; give in"),
    (f"{B} --against ncll", "baseline 'ncll' is unknown: use some of nccl"),
    (f"{B} --algorithm rong", "algorithm 'rong' is unknown for these calls of allreduce: use auto, each, ring"),
    (f"{B} --plan --algorithm two_shot_direct", "'two_shot_direct' is unknown for these calls"),
    (f"{B} --algorithm hierarchical", "hierarchical can't run here: "),
    ("bench put --plan", "--plan: put has no plans; allreduce"),
    (f"{B} --output /dev/null", "/dev/null cannot be written: it is not a regular file; give another path"),
    ("topology --topology 0-nodes-of-4", "'0' is neither one to sixteen"),
    ("explain -d float33", "invalid choice: 'float33'"),
    ("precompile hopper a.py", "'hopper' is not an architecture such as sm_90"),
    ("precompile sm_90 nothing.py", "program 'nothing.py' is no file: give a file, or -m and a module"),
    ("run", "program '' is no file: give a file, or -m and a module"),
    ("run -m", "program '-m' is no file: give a file, or -m and a module"),
    ("run nothing.py", "program 'nothing.py' is no file: give a file, or -m and a module"),
    ("precompile sm_90 -m", "program '-m' is no file: give a file, or -m and a module"),
]


@pytest.fixture(autouse=True)
def on_the_host(monkeypatch):
    monkeypatch.setenv("PENNYMPI_BACKEND", "host")
    monkeypatch.setattr(cache, "_reports", False)  # so that a cold cache prints nothing


@pytest.mark.parametrize(("line", "expected"), WRONG, ids=[line for line, _ in WRONG])
def test_a_wrong_command_line(line, expected, monkeypatch, capsys):
    monkeypatch.setattr(bench, "measure_all", None)  # so that nothing is measured
    try:
        status = main(line.split())
    except SystemExit as end:
        status = end.code
    out, text = capsys.readouterr()
    assert status == 2 and not out and re.search(expected, text), text
    assert len(text.splitlines()) == 1 and len(text) < 600 and text.startswith("python -m pennympi"), text


def test_a_wrong_setting_is_one_sentence_of_every_command(monkeypatch, capsys):
    monkeypatch.setenv("PENNYMPI_TIMEOUT_S", "1e12")
    for command in ("report", "bench allreduce", "tune", "explain", "topology"):
        assert main(command.split()) == 2
        text = capsys.readouterr().err
        assert text.startswith(f"python -m pennympi {command.split()[0]}: PENNYMPI_TIMEOUT_S='1e12' cannot be used: give")
        assert text.count("\n") == 1


def test_all_ranks_end_at_once_with_one_sentence():
    plain = launch(3, "-c", "import pennympi.__main__")
    words = "bench allreduce --output /proc/x".split()
    ended = launch(3, "-m", "pennympi", *words, env=settled(3, PENNYMPI_BACKEND="host"))
    assert ended.rc == 2, ended.output
    assert ended.output.count("python -m pennympi") == 1 and "Traceback" not in ended.output, ended.output
    assert ended.seconds < 2 + plain.seconds, (ended.seconds, plain.seconds)


def test_a_disk_that_is_full(tmp_path, capsys, monkeypatch):
    """An error that appears only when the file is written: one sentence, status 1, the old file, and printed results."""

    def full(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    (tmp_path / "result.json").write_text("old")
    words = ["--sizes", "8", "-n", "1", "-w", "0", "--budget-ms", "0.1"]
    file = tmp_path / "result.json"
    assert main(["bench", "allreduce", *words, "--output", str(file)]) == 1
    out, text = capsys.readouterr()
    assert "Wrong elements: 0 OK" in out and text.count("\n") == 1
    assert re.search(rf"bench: {file} cannot be written: no space left on device", text)
    assert file.read_text() == "old" and len(list(tmp_path.iterdir())) == 1


def test_stdout_that_cannot_be_written():
    read, write = os.pipe()
    os.close(read)
    env = {**os.environ, **settled(1, PENNYMPI_BACKEND="host"), "PYTHONPATH": str(ROOT)}
    with open("/dev/full", "w") as full, os.fdopen(write, "w") as closed:
        for command, stdout, expected in (
            ("topology", full, "no space left on device"),
            ("explain", closed, "broken pipe"),
        ):
            words = [sys.executable, "-X", "dev", "-m", "pennympi", command]
            ended = subprocess.run(words, env=env, cwd=ROOT, stdout=stdout, stderr=subprocess.PIPE, text=True, timeout=60)
            assert ended.returncode == 1 and ended.stderr.count("\n") == 1, ended.stderr
            assert f"stdout cannot be written: {expected}" in ended.stderr


def test_the_library_is_usable_after_a_wrong_command(capsys):
    assert main(["bench", "allreduce", "--algorithm", "hierarchical"]) == 2
    with pennympi.init(backend="host", heap_bytes=1 << 20) as team:
        assert team.allreduce(team.full(3, 2, "float32"))[0] == 2


REPORTS = {  # {command line as --help shows it: a part of rank 0's output}
    "report": "python -m pennympi tune measures them",
    "report --algorithms": "one_shot_packets     every PE sends its vector",
    "topology": "node",
    "topology --json": '"rings"',
    "topology --topology one-node-of-one": "node",
    "explain": "allreduce of 1048576 bytes",
    "explain 64K 1M -d int8 -o avg": "allreduce of 65536 bytes, int8 avg",
    "bench allreduce -b 1K -e 2K -f 2 -n 1 -w 0 --budget-ms 0.1 --place in --eager": "Wrong elements: 0 OK",
    "bench allreduce --sizes 7,1K -i 1K -n 1 -w 0 --budget-ms 0.1 --symmetric --plan -c 1": "Wrong elements: 0 OK",
}


@pytest.mark.parametrize("line", REPORTS)
def test_a_command_line_of_help(line, capsys):
    assert main(line.split()) == 0
    out, error = capsys.readouterr()
    assert REPORTS[line] in out and not error, out + error


def test_the_report_fits_a_screen(capsys):
    assert main([]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 40 and max(map(len, lines)) <= 100
    assert report.pe_map([("a", "x")] * 3 + [("b", "x")]) == [("PE 0 to 2", "a: x"), ("PE 3", "b: x")]
    assert report.pe_map([(str(host), "x") for host in range(20)])[-1] == ("", "and 12 more lines of PEs")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_says_its_default(command):
    parser = argparse.ArgumentParser()
    import_module(f"pennympi.command.{command}").arguments(parser)
    for option in parser._actions:
        shown = option.help not in (argparse.SUPPRESS, "show this help message and exit")
        assert not (shown and option.option_strings) or "(default: " in option.help, option.option_strings


MAIN = """
import sys
from mpi4py import MPI
print(type(MPI.COMM_WORLD).__module__, sys.argv[1:])
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working directory with a program, and a package with the same program."""
    (tmp_path / "solver").mkdir()
    for name in ("solver.py", "solver/__init__.py", "solver/__main__.py"):
        (tmp_path / name).write_text("" if "init" in name else MAIN)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(("command", "program"), [("run", "solver.py"), ("precompile --beyond sm_90", "-m solver")])
def test_programs_that_commands_run(folder, command, program):
    """A file and a module, with options that the command has, too."""
    words = f"-X dev -m pennympi {command} {program} -m --beyond --steps 3".split()
    env = {**os.environ, **settled(1, PENNYMPI_BACKEND="host"), "PYTHONPATH": str(ROOT)}
    ended = subprocess.run([sys.executable, *words], env=env, capture_output=True, text=True, timeout=60)
    module = "pennympi.mpi.comm" if command == "run" else "mpi4py.MPI"
    assert ended.stdout == f"{module} ['-m', '--beyond', '--steps', '3']\n" and not ended.stderr, ended


def test_nothing_is_left_open():
    code = "import pennympi\nwith pennympi.init() as team: team.barrier()"
    ended = launch(2, *"-X dev -W error -c".split(), code, env=settled(2, PENNYMPI_BACKEND="host"))
    assert ended.rc == 0, ended.output
    assert [line for line in ended.output.splitlines() if not line.startswith("pennympi: ")] == []
