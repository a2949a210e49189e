"""Run the tests in a process each, under mpirun and over hosts, and add up the counts of rank 0.

    python tools/run_tests.py                            `make test`: one process, 2 and 4 ranks, 2 hosts of 2 ranks
    python tools/run_tests.py --rest                     what `make test-all` runs besides it
    python3 tools/run_tests.py --gpus 1 --ranks 1        `make test-gpu`: tests that depend on the device
    python tools/run_tests.py --ranks 4                  the tests with an mpi mark, under mpirun
    python tools/run_tests.py --hosts 2x3                the tests with a hosts mark, over 2 hosts with 3 ranks each
    python tools/run_tests.py -- -k ring                 arguments after -- go to pytest

A single rank needs no mpirun: the tests with an mpi mark run as one PE, with all other tests, in two processes.  Tests
with a slow mark are left to --rest.
At 5, 7, 8 and 16 ranks --rest runs only the tests that depend most on the number: algorithms, grids, applications.
Hosts are those of tools/hosts.sh; if this machine refuses them, PENNYMPI_NODE lets the ranks act as if on several hosts.

The output of a rank that failed is shown, and all failures are named before the last line, "N passed, N failed".  The
status is 0 if nothing failed, no run hung, and every run ran a test.
"""

import argparse
import contextlib
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OUTPUT = ROOT / "build" / "tests"
# Every rank writes its own file and has its own temporary folder, since pytest's numbered folders collide.
RANK = """r=${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-${PMIX_RANK:-0}}}
[ -z "$TEST_NODE_RANKS" ] || export PENNYMPI_NODE=$((r / TEST_NODE_RANKS))
exec "$@" --basetemp "$TEST_TMP/$r" >"$TEST_OUT/rank$r.txt" 2>&1"""
SHOW_S = 10.0  # time between two lines about a running run
OTHERS_S = 10.0  # time that the other ranks get after a rank failed alone, since they may wait for it
HUNG, OTHERS = "hung, the rest is not started", "a rank failed, the others were ended"
IN_TWO = ("-q", "-n", "2", "--max-worker-restart", "0")  # a crashed worker ends the run
MAKE_TEST = {"ranks": "1,2,4", "hosts": "2x2", "soak": 0}
REST = {"ranks": "3,5,7,8,16", "hosts": "2x3,3x1,4x4", "soak": 1}
NOTHING = {"ranks": "", "hosts": "", "soak": 0}
SUBSET_RANKS = ("5", "7", "8", "16")
APPLICATIONS = ("tests/jacobi", "tests/heat3d", "tests/poisson")
SUBSET = ("tests/kernels", "tests/sweep", *APPLICATIONS, "tests/library/test_grid.py")
SHARED_GPU = (*SUBSET, *(f"tests/library/test_{topic}.py" for topic in ("rma", "plan", "overlap")))
OF_PACKAGES = ("tests/library/test_machine_code.py", "tests/library/test_dlpack.py", "tests/sweep/test_host_pass.py")
ENVIRONMENTS = (  # environments of tools/environment.sh: the versions that pip may install, and CUDA 13's compiler
    ("oldest", (*OF_PACKAGES, "tests/cuda/test_ptx.py", "-k", "not test_ptx or small or nvls or poisson")),
    ("newest", (*OF_PACKAGES, "tests/cuda/test_ptx.py")),
)
HOSTS = str(ROOT / "tools" / "hosts.sh")
# Parts of pytest's output: its last line, failures in its summary, a test that has begun, perhaps with faulthandler's
# text; and the lines that are not shown here: progress, and the lines of pytest-mpi.
SUMMARY = re.compile(r"^(?:=+ )?(\d+ \w+.*|no tests ran) in [\d.]+s", re.MULTILINE)
FAILED = re.compile(r"^(((?:FAILED|ERROR) .+?)(?: - .*)?)$", re.MULTILINE)
BEGUN = re.compile(r"^(\S+\.py::.*?)(?: Fatal Python error:.*| Timeout \(.*| *)$", re.MULTILINE)
NOISE = re.compile(r"^(.*\[ *\d+%\]\n|=+ MPI Information =+\n(?s:.*?)^mpi4py config:\n(?: .*\n)*)", re.MULTILINE)


def environment(python, mpirun):
    """The ranks' environment: Open MPI's variables, and a PATH on which tests find this mpirun and python.

    Python writes bytecode even if the shell forbids it, since every rank would compile every file otherwise.
    """
    lines = (ROOT / "tools" / "openmpi.env").read_text().splitlines()
    variables = dict(line.split("=", 1) for line in lines if not line.startswith("#"))
    folders = [os.path.dirname(mpirun)] if os.path.isabs(mpirun) else []
    if (Path(python).parent.parent / "pyvenv.cfg").exists():
        folders.append(os.path.dirname(python))
    path = os.pathsep.join([*folders, os.environ["PATH"]])
    fixed = {"PATH": path, "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1", "PYTHONDONTWRITEBYTECODE": ""}
    return os.environ | variables | fixed


def over_hosts(shapes, mpirun, pytest):
    """Yield (name, command, variables) of a run for each shape; "2x3" is 2 hosts with 3 ranks each."""
    refused = bool(shapes) and subprocess.run([HOSTS, "1", "true"]).returncode != 0
    for shape in filter(None, shapes.split(",")):
        hosts, ranks = map(int, shape.split("x"))
        start = [*mpirun, "-n", str(hosts * ranks), *pytest, "-x", "--only-mpi", "-m", "hosts"]
        if refused:
            variables = {"TEST_NODE_RANKS": str(ranks), "MPIR_CVAR_NUM_CLIQUES": str(hosts)}
            yield f"{shape} as if on hosts", start, variables
        else:
            yield f"hosts {shape}", [HOSTS, str(hosts), *start], {"SLOTS": str(ranks)}


def marked(mark):
    """Yield the ids of the live processes whose environment contains the run's mark, in any session."""
    for environ in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):  # the process has ended, or belongs to another user
            if mark.encode() in environ.read_bytes():
                yield int(environ.parent.name)


def end(launcher, mark):
    """End the processes of a run: by SIGABRT, at which Python prints its stacks, then by SIGKILL.  Returns its status."""
    for number in (0 if launcher.poll() is not None else signal.SIGABRT, signal.SIGKILL):
        for pid in marked(mark):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
        deadline = time.monotonic() + 5
        while any(marked(mark)) and time.monotonic() < deadline:
            launcher.poll()
            time.sleep(0.1)
    return launcher.wait()


def text_of(path):
    return path.read_text(errors="replace") if path.exists() else ""


def counts(text):
    """(passed, failed) of the summary line in a rank's output; zeros while there is no such line."""
    summary = SUMMARY.findall(text)[-1:]
    number_of = {word: int(n) for n, word in re.findall(r"(\d+) (passed|failed|error)", "".join(summary))}
    return number_of.get("passed", 0), number_of.get("failed", 0) + number_of.get("error", 0)


def named(texts, why):
    """A line for each test that failed on any rank, and for each test during which a rank ended by itself."""
    lines = {}
    unfinished = [stem for stem, text in texts.items() if stem != "launcher" and not SUMMARY.search(text)]
    for stem, text in texts.items():
        for line, test in FAILED.findall(text.rpartition("short test summary info")[2]):
            lines.setdefault(test, f"{stem}: {line}")
    for stem in unfinished if why != OTHERS else ():
        lines |= {test: f"{stem}: {why or 'no summary'} in {test}" for test in BEGUN.findall(texts[stem])[-1:]}
    return [*lines.values()] or [f"{why or 'no summary'} in no test"] * bool(why or unfinished)


def run(name, command, env, limit_s):
    """Run a command to its end or its limit.  Returns (passed, a line for each failure, why it was ended or "")."""
    begin, why, mark = time.monotonic(), "", uuid.uuid4().hex
    limit = begin + limit_s
    out = OUTPUT / name.replace(" ", "")
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    with tempfile.TemporaryDirectory(prefix="pennympi-tests-") as scratch, (out / "launcher.txt").open("wb") as printed:
        env = env | {"TEST_MARK": mark, "TEST_OUT": str(out), "TEST_TMP": scratch}
        shown = begin
        launcher = subprocess.Popen(command, env=env, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=printed, stderr=printed)
        try:
            while launcher.poll() is None and not why:
                time.sleep(0.2)
                if time.monotonic() > shown + SHOW_S:
                    shown = time.monotonic()
                    last = text_of(out / "rank0.txt").splitlines()[-1:]
                    print(f"{name}, {shown - begin:.0f} s:", *last, file=sys.stderr, flush=True)
                if limit == begin + limit_s and any(counts(text_of(path))[1] for path in out.glob("rank*.txt")):
                    limit = time.monotonic() + OTHERS_S
                if time.monotonic() > limit:
                    why = HUNG if limit == begin + limit_s else OTHERS
        finally:
            status = end(launcher, mark)
    texts = {path.stem: NOISE.sub("", text_of(path)) for path in sorted(out.iterdir())}
    if any(re.search(r"Timeout \(\d+:\d\d:\d\d\)!", text) for text in texts.values()):
        why = HUNG
    failures = named(texts, why or (f"status {status}" if status not in (0, 5) else ""))  # 5 is pytest's "no tests"
    for stem, text in texts.items() if failures else ():
        last = text.rstrip().rpartition("\n")[2]
        if text and (not SUMMARY.match(last) or counts(last)[1]):
            print(f"--- {name}, {stem}:", text, sep="\n")
    passed, seconds = counts(texts.get("rank0", ""))[0], time.monotonic() - begin
    print(f"{name}: {passed} passed, {len(failures)} failed in {seconds:.1f} s {why}".rstrip(), flush=True)
    return passed, [f"{name}, {line}" for line in failures], why


def planned(args):
    """Yield (name, command, variables) of every run."""
    mpirun = shlex.split(args.mpirun)
    python = ["sh", "-c", RANK, "sh", args.python, "-X", "faulthandler"]
    everything = [*python, "-m", "pytest", "-v", "--no-header", "--color=no"]
    for n in filter(None, args.ranks.split(",")):
        chosen = [*everything, *args.pytest]
        if args.gpus and int(n) > args.gpus:
            chosen += SHARED_GPU
        elif args.rest and n in SUBSET_RANKS and not args.pytest:
            chosen += SUBSET
        if n == "1" and not args.gpus:
            yield "one process", [*chosen, *IN_TWO, "-m", "not slow", "--with-mpi"], {}
        else:
            yield f"np {n}", [*mpirun, "-n", n, *chosen, "-x", "--only-mpi"], {}
    yield from over_hosts(args.hosts, mpirun, [*everything, *args.pytest])
    if args.rest:
        yield "slow", [*everything, "-n", "0", "-m", "slow"], {}
        yield "downloads", [*everything, "-n", "0", "tests/cuda/test_shim.py"], {"TEST_DOWNLOADS": "1"}
        for name, tests in ENVIRONMENTS:
            chosen = [*python[:4], str(ROOT / "tools" / "environment.sh"), name, "-q", "--color=no", "-n", "2"]
            yield name, [*chosen, *tests], {}
    if args.soak and not args.pytest:
        yield "soak", [*everything, "-n", "0", "--soak", str(args.soak), "tests/soak"], {}
        limit = ["-o", "faulthandler_timeout=660"]  # limit of a test in seconds, for two launches of 300 s each
        yield "suites", [*everything, *limit, "-n", "0", "--suites", "tests/suites"], {}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", help="rank counts, comma separated")
    parser.add_argument("--hosts", metavar="NxM,...", help="also N hosts of M ranks each")
    parser.add_argument("--soak", type=float, metavar="MINUTES", help="also run tests/soak for so long, and tests/suites")
    parser.add_argument("--rest", action="store_true", help="run what `make test` leaves out")
    parser.add_argument("--gpus", type=int, metavar="N", help="only tests with an mpi mark; at more than N ranks some")
    parser.add_argument("--python", default=sys.executable, help="interpreter of the ranks (this one)")
    parser.add_argument("--mpirun", default="mpirun", help="launcher, with its options (%(default)s)")
    parser.add_argument("--limit", type=float, default=1500, help="longest time of a run in seconds (%(default)g)")
    parser.add_argument("pytest", nargs="*", help="arguments of pytest, after --")
    args = parser.parse_args()
    named = args.ranks is not None or args.hosts is not None or args.soak is not None
    for name, value in (REST if args.rest else NOTHING if named else MAKE_TEST).items():
        if getattr(args, name) is None:
            setattr(args, name, value)
    return args


def main():
    args, begin = arguments(), time.monotonic()
    n_passed, failures = 0, []
    env = environment(args.python, shlex.split(args.mpirun)[0])
    for name, command, variables in planned(args):
        passed, failed, why = run(name, command, env | variables, args.limit)
        if not passed and not failed and not args.pytest:
            failed = [f"{name}: no test ran"]
        n_passed += passed
        failures += failed
        if why == HUNG:
            break
    print(f"{time.monotonic() - begin:.0f} s", *failures, sep="\n")
    print(f"{n_passed} passed, {len(failures)} failed")
    return int(bool(failures) or n_passed == 0)


if __name__ == "__main__":
    sys.exit(main())
