"""Rows 23 to 27 and 31: the solver's bits, oracles, edges, checkpoints and restart files."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from launch import Ended

from .case import Case, Row
from .faults import pid_of
from .stage import TRACEBACK, Stage, last_words, left, unexpected, whole

FOR_EVER = "--niter 1000000000 --no-serial --tol 0"
CPU_VARIANTS = ("mpi", "mpi_overlap", "nvshmem", "nvshmem_overlap", "device", "persistent", "blocked")


def solve(stage: Stage, n: int, line: str, *more: Any, limit_s: float = 100, **how: Any) -> Ended:
    """The solver's command line on n PEs."""
    return stage.job(n, "-m", "apps.jacobi", *line.split(), *more, limit_s=limit_s, **how)


def contents(path: Path) -> tuple[int, str, str]:
    """(iterations, digest of the field, digest of the history) of a checkpoint or result."""
    with h5py.File(path, locking=False) as file:
        field = hashlib.sha1(file["field"][:].tobytes()).hexdigest()
        history = b"".join(file[f"residual/{name}"][:].tobytes() for name in ("iteration", "norm"))
        return int(file.attrs["iterations"]), field, hashlib.sha1(history).hexdigest()


def same_bits(stage: Stage) -> Iterator[Case]:
    """Each problem on one PE, then on others, by other variants and numbers of sweeps a pass."""
    problems = [
        f"--nx {nx} --ny {ny} --dtype {dtype} --nccheck {nccheck} --niter 40 --tol 0 --no-serial --method {method}"
        for nx in (3, 33, 1023, 4096) for ny in (18, 64, 257) for dtype in ("float32", "float64")
        for nccheck, method in ((1, "jacobi"), (7, "jacobi"), (3, "chebyshev"))
    ]  # fmt: skip
    ranks = [n for n in stage.ranks(1, 2, 3, 4, 5, 7, 8, 16)]
    for line in stage.some(problems, 10):
        wanted, path = None, stage.folder / "field.h5"
        shapes: list[tuple[int, str]] = [(1, "")]
        variants = ("",) if "chebyshev" in line else tuple(f"--variant {name}" for name in CPU_VARIANTS)
        shapes += [(stage.random.choice(ranks), stage.random.choice(variants)) for _ in range(4)]
        for n, variant in shapes:
            path.unlink(missing_ok=True)
            ended = solve(stage, n, f"{line} {variant}", "--output", path)
            failure = whole(ended, 100)
            if not failure:
                wanted = wanted or contents(path)
                failure = "" if contents(path) == wanted else "other bits than one PE"
            yield Case("same bits", 1, failure and f"{n} PEs, {line} {variant}: {failure}")


def oracles(stage: Stage) -> Iterator[Case]:
    edge = 16384 if stage.n_gpus else 1024
    for check in ("residual", "eigenmode", "analytic", "serial"):
        for dtype in ("float32", "float64"):
            n = stage.random.choice(stage.ranks(2, 3, 4))
            line = f"--nx {edge} --ny {edge} --bc periodic --niter 200 --nccheck 10 --no-serial --dtype {dtype}"
            ended = solve(stage, n, f"{line} --verify {check}", limit_s=200)
            failure = whole(ended, 200) or ("" if "PASS" in ended.output else f"no PASS: {last_words(ended)}")
            yield Case(f"{check}, {dtype}", 1, failure)


def edges(stage: Stage) -> Iterator[Case]:
    refused = ("--ny 5", "--nx 2", "--nx two", "--ny -3", "--niter 0", "--tol nan", "--sweeps 0", "--dtype int8",
               "--nccheck 0", "--nx 99999999999", "--restart /nowhere.h5", "--output /nowhere/x.h5",
               "--nx 2000000000 --ny 2000000000", "--nx 65536 --ny 65536 --dtype float64 --niter 1",
               "--variant nothing", "--ny 18 --sweeps 8 --variant blocked",
               "--variant single", "--checkpoint /nowhere/x.h5", "--json /nowhere/x")  # fmt: skip
    for line in refused[: max(3, stage.times(len(refused)))]:
        for n in (4,) if not stage.n_gpus else stage.ranks(2):
            ended = solve(stage, n, line)
            if ended.rc == 0 and line.startswith("--nx 65536") and stage.n_gpus:
                continue
            failure = refusal(ended, ": error: ")
            yield Case("refused", 1, failure and f"{line}: {failure}")
    for line in ("--nx 3 --ny 6", "--nx 3 --ny 3", "--nx 17 --ny 18 --sweeps 4 --variant blocked"):
        n = 1 if "--ny 3" in line else stage.ranks(4)[0]
        failure = whole(solve(stage, n, f"{line} --verify --no-serial --niter 30"), 100)
        yield Case("smallest grids", 1, failure and f"{line}: {failure}")


def refusal(ended: Ended, words: str, statuses: tuple[int, ...] = (1, 2)) -> str:
    """Whether a job ended at once, on all PEs, with one error; else what was seen."""
    if ended.rc not in statuses:
        return unexpected(ended, 100)
    if TRACEBACK in ended.output:
        return f"a traceback: {last_words(ended)}"
    if not re.search(words, ended.output):
        return f"no error in words: {last_words(ended)}"
    if ended.output.count(": error: ") > 1:
        return f"{ended.output.count(': error: ')} errors"
    return left(ended)


def killed_checkpoints(stage: Stage) -> Iterator[Case]:
    """Killed while it writes; what it left is whole, and goes on on other numbers of PEs to the bits of one run."""
    for number in range(stage.times(100)):
        path, parts = stage.folder / f"run{number}.h5", stage.folder
        line = f"--nx 300 --ny {stage.random.randrange(200, 500)} --dtype float64 --nccheck 3"
        n = stage.random.choice(stage.ranks(2, 3))

        def kill(process: Any, path: Path = path, n: int = n, parts: Path = parts) -> None:
            victim, deadline = pid_of(process, stage.random.randrange(n)), time.monotonic() + 20
            after = time.monotonic() + stage.random.uniform(0.1, 0.5)
            while time.monotonic() < deadline:
                writing = path.exists() and any(one.name.startswith(path.stem) and one != path for one in parts.iterdir())
                if writing and time.monotonic() > after:
                    break
                time.sleep(0.0003)
            os.kill(victim, signal.SIGKILL)

        ended = solve(stage, n, f"{line} {FOR_EVER} --checkpoint-every 4 --checkpoint", path, act=("    0, ", kill))
        failure = "status 0" if ended.rc == 0 else "hangs" if ended.rc is None else left(ended)
        if not failure and path.exists():
            failure = _goes_on(stage, path, line)
        yield Case("kill -9 while a checkpoint is written", 1, failure)
        for one in stage.folder.glob("run*"):
            one.unlink()


def _goes_on(stage: Stage, path: Path, line: str) -> str:
    """Continue a checkpoint on two other numbers of PEs, and compare with one run."""
    done = contents(path)[0]
    for n in (stage.random.choice(stage.ranks(1, 2, 3, 5)), 1):
        done += 10
        ended = solve(stage, n, f"--niter {done} --tol 0 --no-serial --checkpoint {path} --restart")
        if ended.rc != 0:
            return f"does not go on from {done - 10}: {unexpected(ended, 100)}"
    whole_path = stage.folder / "run-whole.h5"
    ended = solve(stage, stage.ranks(2)[0], f"{line} --niter {done} --tol 0 --no-serial --output", whole_path)
    if ended.rc != 0:
        return unexpected(ended, 100)
    return "" if contents(path) == contents(whole_path) else f"other bits than one run of {done} sweeps"


def signals_and_disks(stage: Stage) -> Iterator[Case]:
    n = stage.ranks(3)[0]
    for number in range(stage.times(8)):
        path, sent = stage.folder / f"signal{number}.h5", []

        def term(process: Any, sent: list[float] = sent) -> None:
            os.kill(pid_of(process, stage.random.randrange(n)), signal.SIGUSR1)
            time.sleep(stage.random.uniform(0.2, 1))
            sent.append(time.time())
            os.kill(pid_of(process, stage.random.randrange(n)), signal.SIGTERM)

        ended = solve(stage, n, f"--nx 200 --ny 150 {FOR_EVER} --checkpoint", path, act=("    0, ", term))
        failure = ""
        if ended.rc != 5 or "Interrupted after" not in ended.output:
            failure = unexpected(ended, 100)
        elif ended.ended - sent[0] > 10:
            failure = f"took {ended.ended - sent[0]:.0f} s"
        elif f"Interrupted after {contents(path)[0]} iterations" not in ended.output:
            failure = "the checkpoint holds another number of iterations"
        yield Case("SIGUSR1 and SIGTERM", 1, failure or left(ended))
    unshare = shutil.which("unshare")
    allowed = unshare and os.geteuid() == 0
    for size, what in (("64k", "full"), ("1m,ro", "read-only")):
        for option in ("--checkpoint", "--output", "--json", "--plot")[: stage.times(4)]:
            if not allowed:
                yield Case(f"a {what} disk", 1, not_run="namespaces are not allowed here")
                continue
            disk = stage.folder / "disk"
            disk.mkdir(exist_ok=True)
            around = [
                unshare or "",
                "-m",
                "sh",
                "-c",
                'mount -t tmpfs -o size="$0" tmpfs "$1"; shift; exec "$@"',
                size,
                disk,
            ]
            name = disk / f"x{ {'--json': '.json', '--plot': '.png'}.get(option, '.h5') }"
            grid = "--nx 300 --ny 200 --niter 3000 --nccheck 1 --no-serial --tol 0"
            ended = solve(stage, 2, grid, option, name, around=[str(one) for one in around])
            failure = ""
            if ended.rc in (0, None) and not (option == "--checkpoint" and "No space" in ended.output):
                failure = "status 0 without a word" if ended.rc == 0 else "hangs"
            elif TRACEBACK in ended.output:
                failure = f"a traceback: {last_words(ended)}"
            elif str(name) not in ended.output:
                failure = f"does not name the file: {last_words(ended)}"
            yield Case(f"a {what} disk", 1, failure and f"{option}: {failure}")


def damaged_restarts(stage: Stage) -> Iterator[Case]:
    """One byte flipped anywhere, truncated, foreign and altered files: refused in a sentence, or the right field."""
    path, bad = stage.folder / "good.h5", stage.folder / "bad.h5"
    line = "--nx 60 --ny 50 --nccheck 5 --no-serial --tol 0 --bc periodic"
    n = stage.ranks(2)[0]
    first = solve(stage, n, f"{line} --niter 30 --checkpoint", path)
    if first.rc != 0:
        yield Case("a checkpoint", 1, unexpected(first, 100))
        return
    good = path.read_bytes()
    wanted = stage.folder / "wanted.h5"
    solve(stage, n, f"{line} --niter 40 --output", wanted)

    def goes_on(name: str, what: str) -> Case:
        out = stage.folder / "out.h5"
        out.unlink(missing_ok=True)
        ended = solve(stage, stage.random.choice([1, n]), f"--niter 40 --no-serial --restart {bad} --output {out}")
        if ended.rc == 0:
            same = out.exists() and contents(out) == contents(wanted)
            return Case(name, 1, "" if same else f"{what}: another field, with status 0")
        failure = refusal(ended, re.escape(bad.name))
        return Case(name, 1, failure and f"{what}: {failure}")

    for _ in range(stage.times(40)):
        at, bit = stage.random.randrange(len(good)), 1 << stage.random.randrange(8)
        bad.write_bytes(good[:at] + bytes([good[at] ^ bit]) + good[at + 1 :])
        yield goes_on("one bit flipped", f"byte {at} of {len(good)}")
    for _ in range(stage.times(12)):
        at = stage.random.randrange(len(good))
        bad.write_bytes(good[:at])
        yield goes_on("truncated", f"{at} of {len(good)} bytes")
    for what, data in {
        "empty": b"",
        "text": b"no checkpoint\n" * 500,
        "zeros": bytes(len(good)),
        "twice": good + good,
    }.items():
        bad.write_bytes(data)
        yield goes_on("foreign", what)
    for what in ("no field", "no history", "other shape", "nan", "other iterations", "other dtype", "foreign"):
        bad.write_bytes(good)
        with h5py.File(bad, "r+") as file:
            field = file["field"][:]
            if what in ("no field", "other shape", "other dtype"):
                del file["field"]
                if what != "no field":
                    file["field"] = field[:-1] if what == "other shape" else field.astype("int32")
            elif what == "no history":
                del file["residual"]
            elif what == "nan":
                field[3, 4] = np.nan
                file["field"][...] = field
            elif what == "other iterations":
                file.attrs["iterations"] = -5
            else:
                for name in list(file.attrs):
                    del file.attrs[name]
        yield goes_on("altered", what)


ROWS = [
    Row(
        "23",
        "the solver on 1 to 16 PEs x grids x dtypes x variants x methods, 40 sweeps",
        "field and history have the bits of one PE",
        130,
        same_bits,
    ),
    Row("24", "four oracles at 1024^2 (16384^2 on GPUs), both dtypes", "PASS", 60, oracles, gpu_s=120),
    Row(
        "25",
        "fewer rows than PEs, the smallest grids, grids beyond any memory, bad command lines",
        "the result, or one line of error and status 2; no traceback",
        70,
        edges,
        gpu_s=120,
    ),
    Row(
        "26",
        "kill -9 while a checkpoint is written, 100 times; continued on two other numbers of PEs",
        "the file is whole or absent; the bits of one run",
        800,
        killed_checkpoints,
    ),
    Row(
        "27",
        "SIGUSR1 and SIGTERM to random PEs; full and read-only disks for each kind of file",
        "a checkpoint and status 5 within 10 s; one error that names the file, no traceback",
        70,
        signals_and_disks,
    ),
]
DAMAGED = Row("31", "restart files with one bit flipped, truncated, foreign, altered",
              "refused in one sentence that names the file, or the right field", 180, damaged_restarts)  # fmt: skip
