"""Run the tests in one process and then under mpirun at several rank counts, and count what rank 0 reports.

    python tools/run_tests.py                            1, 2, 3, 4, 5, 7, 8 and 16 ranks
    python3 tools/run_tests.py --ranks 1,2,4             fewer, with this interpreter and the first mpirun on PATH
    python tools/run_tests.py --ranks 4 --with-mpi       only under mpirun, with the tests without an mpi mark too
    python tools/run_tests.py -- -k ring                 what follows -- goes to pytest

The last line is "N passed, N failed". The status is 0 when nothing failed, no run hung, and every run ran a test.
"""

import argparse
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OUTPUT = ROOT / "build" / "tests"
# Rank 0 speaks, the others write files; each has its own temporary folder, as pytest's numbered ones collide.
RANK = """r=${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-${PMIX_RANK:-0}}}
set -- "$@" --basetemp "$TEST_TMP/$r"
if [ "$r" = 0 ]; then exec "$@"; else exec "$@" >"$TEST_OUT/rank$r.txt" 2>&1; fi"""


def environment(python, mpirun):
    """The ranks' environment: Open MPI's variables, and the chosen python and mpirun first on PATH."""
    env = dict(os.environ, OMP_NUM_THREADS="1", PYTHONUNBUFFERED="1")
    lines = (ROOT / "tools" / "openmpi.env").read_text().splitlines()
    env.update(line.split("=", 1) for line in lines if line and not line.startswith("#"))
    folders = [os.path.dirname(path) for path in (python, mpirun) if os.path.isabs(path)]
    env["PATH"] = os.pathsep.join([*folders, env["PATH"]])
    return env


def marked(mark):
    """Ids of the live processes that carry the run's mark in their environment, in whatever session they are."""
    found = []
    for environ in Path("/proc").glob("[0-9]*/environ"):
        try:
            if mark.encode() in environ.read_bytes():
                found.append(int(environ.parent.name))
        except OSError:  # ended meanwhile, or another user's
            pass
    return found


def end(launcher, mark):
    """Ask the launcher to end its ranks; kill what is left of the run five seconds later, stopped ranks included."""
    if launcher.poll() is None:
        launcher.terminate()
    deadline = time.monotonic() + 5
    while marked(mark) and time.monotonic() < deadline:
        time.sleep(0.1)
    for pid in marked(mark):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def run(name, command, env, limit_s):
    """Run one command, showing its output. Returns (passed, failed, timed out)."""
    mark, begin, lines, late = uuid.uuid4().hex, time.monotonic(), [], threading.Event()
    out, scratch = OUTPUT / name.replace(" ", ""), tempfile.mkdtemp(prefix="pennympi-tests-")
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    env = dict(env, TEST_MARK=mark, TEST_OUT=str(out), TEST_TMP=scratch)
    pipes = dict(stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    launcher = subprocess.Popen(command, env=env, cwd=ROOT, text=True, errors="replace", **pipes)
    timer = threading.Timer(limit_s, lambda: (late.set(), end(launcher, mark)))
    timer.start()
    try:
        for line in launcher.stdout:
            lines.append(line)
            print(line, end="", flush=True)
        status = launcher.wait()
    finally:
        timer.cancel()
        end(launcher, mark)
        shutil.rmtree(scratch, ignore_errors=True)
    summary = next((line for line in reversed(lines) if re.search(r"\d+ \w+.* in [\d.]+s", line)), "")
    counts = {word.rstrip("s"): int(n) for n, word in re.findall(r"(\d+) (passed|failed|errors?)", summary)}
    passed, failed = counts.get("passed", 0), counts.get("failed", 0) + counts.get("error", 0)
    failed = failed or int(status != 0 or late.is_set())  # another rank's failure, a crash, or a run without tests
    if failed:
        for path in sorted(out.iterdir()):
            print(f"--- {name}, {path.stem} (the end of {path}):", *path.read_text().splitlines()[-40:], sep="\n")
    why = f", timed out after {limit_s} s" if late.is_set() else f", status {status}" if status else ""
    print(f"{name}: {passed} passed, {failed} failed{why} in {time.monotonic() - begin:.1f} s", flush=True)
    return passed, failed, late.is_set()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    beside = os.path.join(os.path.dirname(sys.executable), "mpirun")
    parser.add_argument("--ranks", default="1,2,3,4,5,7,8,16", help="rank counts, comma separated (%(default)s)")
    parser.add_argument("--python", default=sys.executable, help="interpreter of the ranks (this one)")
    parser.add_argument("--mpirun", default=beside if os.access(beside, os.X_OK) else "mpirun", help="launcher")
    parser.add_argument("--limit", type=float, default=400, help="seconds before a run is killed (%(default)g)")
    parser.add_argument("--with-mpi", action="store_true", help="all tests under mpirun, none outside")
    parser.add_argument("pytest", nargs="*", help="arguments of pytest, after --")
    args = parser.parse_args()
    mpirun, pytest = shlex.split(args.mpirun), [args.python, "-m", "pytest", "tests", "-q", "--color=no", *args.pytest]
    env = environment(args.python, mpirun[0])
    which = ["-x", "--with-mpi" if args.with_mpi else "--only-mpi"]
    runs = [] if args.with_mpi else [("one process", pytest)]
    for n in args.ranks.split(","):
        runs.append((f"np {n}", [*mpirun, "-n", n, "sh", "-c", RANK, "sh", *pytest, *which]))
    total_passed = total_failed = 0
    for name, command in runs:
        passed, failed, late = run(name, command, env, args.limit)
        if not passed and not failed and not args.pytest:
            failed = 1
            print(f"{name}: no test ran")
        total_passed, total_failed = total_passed + passed, total_failed + failed
        if late:
            print("a run hung: the rest is not started")
            break
    print(f"{total_passed} passed, {total_failed} failed")
    return int(total_failed > 0 or total_passed == 0)


if __name__ == "__main__":
    sys.exit(main())
