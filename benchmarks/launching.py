"""Start a program under a launcher, and end it in time."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
GRACE_S, OUT_OF_TIME = "10", 124  # for a launcher to end its ranks; the status of `timeout`


def add_options(parser, ranks, what="(%(default)s)"):
    """The options of a script that starts jobs.  what: the help of --ranks"""
    parser.add_argument("--ranks", type=int, default=ranks, help=what)
    parser.add_argument("--launcher", default="mpirun -np {n}", help="{n}: the number of ranks (%(default)s)")


def command(launcher, ranks, *words):
    """The command line of ``words`` under ``launcher``, a text in which {n} stands for the number of ranks."""
    return [*shlex.split(launcher.format(n=ranks)), *map(str, words)]


def python(launcher, ranks, *words):
    """The same for this Python interpreter."""
    return command(launcher, ranks, sys.executable, *words)


def run(line, limit_s, root=ROOT):
    """Run a command line.  Returns (exit status, OUT_OF_TIME after ``limit_s`` seconds; stdout and stderr).

    root: the checkout whose pennympi and apps it imports
    """
    path = os.pathsep.join(filter(None, [str(root), os.environ.get("PYTHONPATH")]))
    env = os.environ | {"PYTHONPATH": path, "PYTHONUNBUFFERED": "1"}
    limited = ["timeout", "--foreground", "-k", GRACE_S, str(limit_s), *map(str, line)]
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    ended = subprocess.run(limited, **pipes, text=True, errors="replace", env=env, cwd=root)
    return ended.returncode, ended.stdout
