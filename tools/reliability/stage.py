"""Where the rows run: an MPI, a backend, how much of each row, and how its jobs are started."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from .case import Case

ROOT = Path(__file__).resolve().parents[2]
SUPPORT = ROOT / "tests" / "support"
sys.path.insert(0, str(SUPPORT))

from launch import TRACEBACK as TRACEBACK  # noqa: E402  (of tests/support)
from launch import Ended, launch  # noqa: E402

PROGRAMS = Path(__file__).parent / "programs"
# Rank 0's output is read; each rank has temporary files of its own.
ON_EACH = """r=${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-0}}
[ $r = 0 ] || exec >/dev/null 2>&1
exec "$@" --basetemp "$0/pytest-$r\""""
DEVICE_ROOM_MIB = 64
RANKS = (2, 3, 4, 5, 7, 8, 16)
T = TypeVar("T")


@dataclass(frozen=True)
class Mpi:
    """One MPI: the Python that runs under it, its launcher with what that needs on few cores, and its name."""

    name: str
    python: str
    mpirun: str

    @classmethod
    def in_folder(cls, name: str, folder: str) -> Mpi:
        """The one of an environment's bin folder; of this shell, for the folder ""."""
        if folder:
            python, mpirun = (os.path.abspath(os.path.join(folder, tool)) for tool in ("python", "mpirun"))
        else:
            beside = Path(sys.executable).parent / "mpirun"
            python, mpirun = sys.executable, str(beside) if beside.exists() else shutil.which("mpirun") or ""
        for tool in (python, mpirun):
            if not os.access(tool, os.X_OK):
                raise FileNotFoundError(f"there is no {tool or 'mpirun'}: give --mpi NAME=BIN_FOLDER")
        return cls(name, python, mpirun)

    @property
    def version(self) -> str:
        """ "Open MPI 5.0.11" """
        said = subprocess.run([self.mpirun, "--version"], capture_output=True, text=True).stdout
        kind = "Open MPI" if "Open MPI" in said or "OpenRTE" in said else "MPICH" if "HYDRA" in said else "MPI"
        found = re.search(r"\d+\.\d+[\w.]*", said)
        return f"{kind} {found[0] if found else ''}".strip()

    @property
    def options(self) -> list[str]:
        """What Open MPI needs for more ranks than cores and for root; MPICH needs nothing."""
        open_mpi = self.version.startswith("Open MPI")
        return ["--allow-run-as-root", "--oversubscribe", "--bind-to", "none"] if open_mpi else []


@dataclass
class Stage:
    """mpi, backend ("host" or "cuda") and how much: a row's counts times ``scale``.  n_gpus: 0 for CPUs"""

    mpi: Mpi
    scale: float = 1.0
    seed: int = 1
    n_gpus: int = 0
    folder: Path = field(default_factory=lambda: Path(tempfile.mkdtemp(prefix="scorecard-")))

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.options = self.mpi.options
        self.row_ends_s = float("inf")  # of time.monotonic(): after it a row begins no more of its cases
        self._idle_mib = used_mib() if self.n_gpus else []

    @property
    def backend(self) -> str:
        return "cuda" if self.n_gpus else "host"

    def times(self, whole: int) -> int:
        """How often to do what a whole run does ``whole`` times."""
        return max(1, round(whole * self.scale))

    def ranks(self, *wanted: int) -> list[int]:
        """These numbers of ranks, the first ones only in a short run; on GPUs 2 to as many as there are, else 1."""
        if not self.n_gpus:
            numbers = list(wanted or RANKS)
            return numbers[: max(1, round(len(numbers) * 4 * self.scale))]
        return list(range(2, self.n_gpus + 1)) or [1]

    def some(self, cases: Sequence[T], whole: int) -> Iterator[T]:
        """``times(whole)`` of the cases in random order, each before any comes again, while there is time."""
        left_over: list[T] = []
        for number in range(self.times(whole)):
            if number and time.monotonic() > self.row_ends_s:
                return
            left_over = left_over or self.random.sample(list(cases), len(cases))
            yield left_over.pop()

    def job(
        self,
        n: int,
        *args: Any,
        limit_s: float = 100,
        timeout_s: float = 60,
        act: tuple[str, Callable[[Any], None]] | None = None,
        around: Sequence[str] = (),
        inside: Sequence[str] = (),
        **env: str,
    ) -> Ended:
        """Run a program on n ranks, or without mpirun for n = 0.

        timeout_s: PENNYMPI_TIMEOUT_S;  around, inside: what stands before mpirun, and before Python
        """
        path = os.pathsep.join([str(ROOT), str(SUPPORT), *filter(None, [os.environ.get("PYTHONPATH")])])
        variables = {"PYTHONPATH": path, "PENNYMPI_BACKEND": self.backend, "PENNYMPI_TIMEOUT_S": f"{timeout_s:g}"}
        variables |= {"PATH": os.pathsep.join([os.path.dirname(self.mpi.mpirun), os.environ["PATH"]])}
        start = [self.mpi.mpirun, *self.options, "-np", str(n)] if n else []
        command = [*around, *start, *inside, self.mpi.python]
        ended = launch(n, *map(str, args), limit_s=limit_s, env=variables | env, act=act, command=command)
        if not n:  # Open MPI 5 alone leaves a segment wherever its mpirun has not started it
            ended.left_in_shm = {name for name in ended.left_in_shm if not name.startswith("sm_segment")}
        return self._with_devices(ended)

    def _with_devices(self, ended: Ended) -> Ended:
        """Adds what a job left on the GPUs: their drivers have five seconds to give its memory back."""
        deadline_s = time.monotonic() + 5
        while self.n_gpus:
            more = [now - idle for now, idle in zip(used_mib(), self._idle_mib, strict=False)]
            if max(more, default=0) <= DEVICE_ROOM_MIB:
                break
            if time.monotonic() > deadline_s:
                ended.left_in_shm.add(f"(and {max(more)} MiB on a GPU)")
                break
        return ended

    def counted(self, name: str, n: int, program: str, *args: Any, limit_s: float = 120, **more: Any) -> Case:
        """Run programs/<program>.py, which counts what it did and what was wrong (programs/counting.py)."""
        ended = self.job(n, PROGRAMS / f"{program}.py", *args, limit_s=limit_s, timeout_s=60, **more)
        title = f"{name}, {n} PEs"
        found = re.search(r"^COUNTED (\{.*\})$", ended.output, re.MULTILINE)
        if not found:
            return Case(title, 1, unexpected(ended, limit_s))
        said = json.loads(found[1])
        if said["wrong"]:
            return Case(title, said["done"], f"{said['wrong']} of {said['done']} wrong, first: {said['first']}")
        return Case(title, said["done"], whole(ended, limit_s), said.get("not_run", ""))

    def suite(self, name: str, n: int, *files: str, k: str = "", limit_s: float = 300, **env: str) -> Case:
        """Run files of tests/ under mpirun (n = 0: without it), and count what passed on PE 0."""
        start = [self.mpi.mpirun, *self.options, "-np", str(n)] if n else []
        line = [*start, "sh", "-c", ON_EACH, str(self.folder), self.mpi.python, "-m", "pytest", "-q", "--color=no"]
        line += ["--only-mpi"] if n else []
        path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
        variables = {"PYTHONPATH": path, "PENNYMPI_BACKEND": self.backend} | env
        variables |= {"PATH": os.pathsep.join([os.path.dirname(self.mpi.mpirun), os.environ["PATH"]])}
        paths = [f"tests/{file}" for file in files]
        ended = launch(n, *paths, *(("-k", k) if k else ()), limit_s=limit_s, env=variables, command=line)
        passed = sum(int(count) for count in re.findall(r"(\d+) passed", ended.output))
        failed = re.search(r"^(?:FAILED|ERROR) (.*)$", ended.output, re.MULTILINE)
        failure = failed[1][:300] if failed else "" if ended.rc == 0 else unexpected(ended, limit_s)
        return Case(f"{name}, {f'{n} PEs' if n else 'jobs'}", passed, failure)


def used_mib() -> list[int]:
    """Memory in use on each GPU, in MiB."""
    line = ["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits"]
    return [int(word) for word in subprocess.run(line, capture_output=True, text=True).stdout.split() if word.isdigit()]


def whole(ended: Ended, limit_s: float) -> str:
    """What is wrong with the end of a job that should have succeeded; "" if nothing is."""
    if ended.rc != 0:
        return unexpected(ended, limit_s)
    return left(ended)


def left(ended: Ended) -> str:
    """What a job left behind."""
    if ended.left_alive:
        return f"processes left alive: {ended.left_alive}"
    return f"left in /dev/shm: {', '.join(sorted(ended.left_in_shm))}" if ended.left_in_shm else ""


def unexpected(ended: Ended, limit_s: float) -> str:
    """How a job ended that should have ended well, with the last line that tells something."""
    if ended.rc is None:
        return f"hangs (killed after {limit_s:g} s): {last_words(ended)}"
    return f"status {ended.rc}: {last_words(ended)}"


def last_words(ended: Ended) -> str:
    """The line of an error, else the last line."""
    lines = [line.strip() for line in ended.output.splitlines() if line.strip()]
    telling = [line for line in lines if re.search(r"\w*(Error|Timeout|GaveUp|Exhausted|Unsupported)\b", line)]
    return (telling or lines or ["no output"])[-1][:300]
