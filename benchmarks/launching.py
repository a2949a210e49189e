"""Starting a program under a launcher, and ending it in time."""

import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
GRACE_S = 10.0


def command(launcher, n_pes, *args):
    """``launcher`` has {n} where the number of PEs goes."""
    return [*shlex.split(launcher.format(n=n_pes)), *map(str, args)]


def python(launcher, n_pes, *args):
    """The same for this Python."""
    return command(launcher, n_pes, sys.executable, *args)


def environment(**more):
    """Of what is started: the checkout is importable, output comes at once."""
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    return os.environ | {"PYTHONPATH": path, "PYTHONUNBUFFERED": "1"} | more


def end(process):
    """The launcher takes its ranks with it when it is asked to end; one that does not is killed with its group."""
    process.terminate()
    try:
        process.wait(GRACE_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def run(line, limit_s, capture=False, **more):
    """(exit status, stdout and stderr if captured); the status is None for a run that had to be ended."""
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
