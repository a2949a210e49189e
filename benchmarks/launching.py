"""Start a program under a launcher, and end it in time."""

import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
GRACE_S = 10.0


def command(launcher, n_pes, *args):
    """The command line of ``args`` under ``launcher``, a text in which {n} stands for the number of PEs."""
    return [*shlex.split(launcher.format(n=n_pes)), *map(str, args)]


def python(launcher, n_pes, *args):
    """The same for this Python interpreter."""
    return command(launcher, n_pes, sys.executable, *args)


def environment(**more):
    """The environment of a program: the checkout can be imported, and output is not buffered."""
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    return os.environ | {"PYTHONPATH": path, "PYTHONUNBUFFERED": "1"} | more


def end(process):
    """Ask the launcher to end itself and its ranks; kill its process group if it does not within GRACE_S."""
    process.terminate()
    try:
        process.wait(GRACE_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def run(line, limit_s, capture=False, **more):
    """Run a command line.  Returns (exit status, None after ``limit_s`` seconds; stdout and stderr if captured)."""
    pipe = subprocess.PIPE if capture else None
    error = subprocess.STDOUT if capture else None
    process = subprocess.Popen(
        line, stdin=subprocess.DEVNULL, stdout=pipe, stderr=error, text=True, errors="replace",
        start_new_session=True, env=environment(), **more,
    )  # fmt: skip
    try:
        text, _ = process.communicate(timeout=max(limit_s, 1.0))
        return process.returncode, text or ""
    except subprocess.TimeoutExpired:
        end(process)
        text, _ = process.communicate()
        return None, text or ""
