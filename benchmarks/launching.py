"""Start a program under a launcher, and end it in time."""

import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
GRACE_S = 10.0


def command(launcher, ranks, *words):
    """The command line of ``words`` under ``launcher``, a text in which {n} stands for the number of ranks."""
    return [*shlex.split(launcher.format(n=ranks)), *map(str, words)]


def python(launcher, ranks, *words):
    """The same for this Python interpreter."""
    return command(launcher, ranks, sys.executable, *words)


def run(line, limit_s, root=ROOT, cwd=None):
    """Run a command line.  Returns (exit status, None after ``limit_s`` seconds; stdout and stderr).

    root: the checkout whose pennympi and apps it imports
    """
    path = os.pathsep.join(filter(None, [str(root), os.environ.get("PYTHONPATH")]))
    process = subprocess.Popen(
        line, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
        start_new_session=True, env=os.environ | {"PYTHONPATH": path, "PYTHONUNBUFFERED": "1"}, cwd=cwd or root,
    )  # fmt: skip
    try:
        text, _ = process.communicate(timeout=max(limit_s, 1.0))
        return process.returncode, text
    except subprocess.TimeoutExpired:
        process.terminate()  # a launcher ends its ranks
    try:
        text, _ = process.communicate(timeout=GRACE_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        text, _ = process.communicate()
    return None, text
