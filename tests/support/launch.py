"""Starts a program under mpirun and describes its end: the base of the failure tests."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / "tests" / "support" / "programs"
TRACEBACK = "Traceback (most recent call last)"
# Prefixes of variables by which a launcher addresses its ranks: hidden from an mpirun inside a rank.  And seed.py's.
_LAUNCHER = ("PMI", "PMIX_", "OMPI_COMM", "OMPI_MCA_num", "OMPI_UNIVERSE", "PRTE_LAUNCHED", "HYDI_", "MPI_LOCAL")
_FOREIGN = (*_LAUNCHER, "PENNYMPI_MACHINE_SEED")
# The variables at import, since pytest changes os.environ while threads start jobs.
_INHERITED = {name: value for name, value in os.environ.items() if not name.startswith(_FOREIGN)}
_OPEN_MPI = {  # for more ranks than cores, and root in a container
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}


@dataclass
class Ended:
    """The end of a run.  rc is None if it was killed at the hard limit."""

    rc: int | None
    output: str  # stdout and stderr together
    seconds: float
    ended: float  # time.time() when mpirun had ended
    left_in_shm: set[str] = field(default_factory=set)
    left_alive: list[int] = field(default_factory=list)  # processes of the run that lived 5 s longer than mpirun

    def since(self, marker: str) -> float:
        """Seconds between the line "<marker> <time.time()>" of the program and its end."""
        for line in self.output.splitlines():
            if line.startswith(marker + " "):
                return self.ended - float(line.split()[-1])
        raise AssertionError(f"no line {marker!r} in:\n{self.output}")


def mpirun() -> str:
    """The mpirun that belongs to this Python, or else the system's."""
    own = Path(sys.executable).parent / "mpirun"
    path = str(own) if own.exists() else shutil.which("mpirun")
    if not path:
        raise FileNotFoundError("there is no mpirun: run `make dev`")
    return path


def foreign(name: str) -> bool:
    """Whether a launcher sets this variable for its ranks."""
    return name.startswith(_FOREIGN)


def launch(
    n_pes: int,
    *args: str,
    limit_s: float = 30,
    env: dict[str, str] | None = None,
    act: tuple[str, Callable[[subprocess.Popen[str]], None]] | None = None,
    command: list[str] | None = None,
) -> Ended:
    """Run ``mpirun -np n_pes python *args`` for at most limit_s seconds.

    act:     (marker, function): the function gets mpirun's process as soon as the output contains the marker
    command: replaces what precedes the arguments: another launcher, or another Python
    """
    tag = uuid.uuid4().hex
    folders = str(ROOT), str(ROOT / "tests" / "support"), _INHERITED.get("PYTHONPATH")
    path = os.pathsep.join(filter(None, folders))
    fixed = {"PYTHONPATH": path, "PYTHONUNBUFFERED": "", "LAUNCH_TAG": tag}
    before, start = _shm(), time.monotonic()
    process = subprocess.Popen(
        [*(command or [mpirun(), "-np", str(n_pes), sys.executable]), *args],
        env=_INHERITED | _OPEN_MPI | fixed | (env or {}),
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    text: list[str] = []
    reader = threading.Thread(target=_read, args=(process, text, act), daemon=True)
    reader.start()
    try:
        rc: int | None = process.wait(limit_s)
    except subprocess.TimeoutExpired:
        rc = None
    ended, seconds = time.time(), time.monotonic() - start
    if rc is None:
        process.kill()
        process.wait()
    alive = _wait_for_none(tag, 5 if rc is not None else 0)
    for pid in alive:  # only processes that carry this run's tag
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    reader.join(5)
    return Ended(rc, "".join(text), seconds, ended, _shm() - before, alive)


def run_program(
    n_pes: int,
    program: str,
    *args: object,
    timeout_s: float,
    limit_s: float = 150,
    act: tuple[str, Callable[[subprocess.Popen[str]], None]] | None = None,
) -> Ended:
    """Run programs/<program>.py on CPUs, and assert what holds for every end: it is in time and leaves nothing.

    timeout_s: PENNYMPI_TIMEOUT_S
    """
    env = {"PENNYMPI_TIMEOUT_S": str(timeout_s), "PENNYMPI_BACKEND": "host"}
    ended = launch(n_pes, str(PROGRAMS / f"{program}.py"), *map(str, args), env=env, limit_s=limit_s, act=act)
    assert ended.rc is not None, f"hangs after {limit_s} s:\n{ended.output}"
    assert not ended.left_alive, ended.left_alive
    assert not ended.left_in_shm, ended.left_in_shm
    return ended


def _read(process, text, act) -> None:
    for line in process.stdout:
        text.append(line)
        if act and act[0] in line:
            act[1](process)
            act = None


def _shm() -> set[str]:
    """The library's files in the node's memory; MPI has files of its own."""
    return {name for name in os.listdir("/dev/shm") if name.startswith("pennympi")}


def _wait_for_none(tag: str, seconds: float) -> list[int]:
    deadline = time.monotonic() + seconds
    while (alive := _tagged(tag)) and time.monotonic() < deadline:
        time.sleep(0.02)
    return alive


def _tagged(tag: str) -> list[int]:
    """The living processes with this run's tag in their environment."""
    pids = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with suppress(OSError):  # the process has ended, or belongs to another user
                if f"LAUNCH_TAG={tag}".encode() in Path(f"/proc/{entry}/environ").read_bytes():
                    pids.append(int(entry))
    return pids
