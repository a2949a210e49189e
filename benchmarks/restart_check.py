"""Check that a run that is killed and continued on other numbers of PEs ends with the bits of an uninterrupted run.

It uses the public command line only.  On the first number of PEs the solver runs with --checkpoint until one of its ranks
gets SIGTERM.  On each further number of PEs the same command goes on with --restart, and the last of them ends by itself.
"""

import hashlib
import os
import re
import signal
import subprocess
import tempfile
import threading
import time
import uuid
from pathlib import Path

import h5py
from launching import end, environment, python, run

FOR_EVER = 1_000_000_000
RUNS_ON_S = 1.5  # how long a run goes on after its first norm, before it is killed
MORE_SWEEPS = 307  # of the last run; not a multiple of the sweeps of a pass
LIMIT_S = 120.0
INTERRUPTED = 5  # exit status


def last_rank(tag, n_pes):
    """The process id of the last rank of the job with this tag in its environment; None if it is on another node."""
    wanted = re.compile(rf"\0(PMI_RANK|PMIX_RANK|OMPI_COMM_WORLD_RANK|SLURM_PROCID)={n_pes - 1}\0")
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            text = "\0" + (folder / "environ").read_text(errors="replace")
            line = (folder / "cmdline").read_text(errors="replace")
        except OSError:
            continue
        if f"BENCH_TAG={tag}" in text and wanted.search(text) and "apps.jacobi" in line:
            return int(folder.name)
    return None


def interrupted(launcher, n_pes, arguments):
    """Start a run, and send SIGTERM to one rank after its first norm.  Returns the iterations in its checkpoint.

    Raises RuntimeError with what it printed when it ends in another way.
    """
    tag = uuid.uuid4().hex
    process = subprocess.Popen(
        python(launcher, n_pes, "-m", "apps.jacobi", *arguments),
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
        start_new_session=True, env=environment(BENCH_TAG=tag), cwd=Path(__file__).resolve().parent.parent,
    )  # fmt: skip
    said, watch = [], threading.Timer(LIMIT_S, process.terminate)
    watch.start()
    for line in process.stdout:
        said.append(line)
        if re.match(r" *\d+, \d", line):  # a norm, as NVIDIA's sample prints it
            break
    watch.cancel()
    time.sleep(RUNS_ON_S)
    if process.poll() is None:
        os.kill(last_rank(tag, n_pes) or process.pid, signal.SIGTERM)
    try:
        rest, _ = process.communicate(timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        end(process)
        rest = f"\nit did not end within {LIMIT_S:.0f} s after SIGTERM"
    text = "".join(said) + rest
    found = re.search(r"Interrupted after (\d+) iterations", text)
    if not found or process.returncode != INTERRUPTED:
        raise RuntimeError(f"on {n_pes} PEs, status {process.returncode}: {text.strip()[-1500:]}")
    return int(found[1])


def finished(launcher, n_pes, arguments):
    """Run the solver to its end.  Raises RuntimeError."""
    line = python(launcher, n_pes, "-m", "apps.jacobi", *arguments)
    status, text = run(line, LIMIT_S, capture=True, cwd=Path(__file__).resolve().parent.parent)
    if status != 0:
        raise RuntimeError(f"on {n_pes} PEs, status {status}: {text.strip()[-1500:]}")


def digests(path):
    """(iterations, digest of the field, digest of the history) of a checkpoint or result."""
    with h5py.File(path, locking=False) as file:
        field = hashlib.sha1(file["field"][:].tobytes()).hexdigest()
        history = [file[f"residual/{name}"][:].tobytes() for name in ("iteration", "norm")]
        return int(file.attrs["iterations"]), field, hashlib.sha1(b"".join(history)).hexdigest()


def check(launcher, pes, n, variant, backend):
    """The check: {n, variant, pes, killed_at, iterations, same, field, history, seconds}.  pes: two numbers or more

    same: whether field and history are those of a run on pes[0] that was not killed.  Raises RuntimeError.
    """
    begin_s, killed_at = time.monotonic(), []
    line = f"--backend {backend} --variant {variant} --no-serial --tol 0 --nccheck 100".split()
    grid = ["--nx", str(n), "--ny", str(n + 3)]  # rows that do not divide evenly
    with tempfile.TemporaryDirectory() as folder:
        run_h5, whole_h5 = Path(folder) / "run.h5", Path(folder) / "whole.h5"
        saved = ["--checkpoint", run_h5, "--restart", "--niter"]
        for count in pes[:-1]:
            killed_at.append(interrupted(launcher, count, [*line, *grid, *saved, FOR_EVER]))
            print(f"killed on {count} PEs after {killed_at[-1]} iterations", flush=True)
        total = killed_at[-1] + MORE_SWEEPS
        finished(launcher, pes[-1], [*line, *grid, *saved, total])
        print(f"ended on {pes[-1]} PEs after {total} iterations", flush=True)
        finished(launcher, pes[0], [*line, *grid, "--niter", total, "--output", whole_h5])
        ours, whole = digests(run_h5), digests(whole_h5)
    same = ours == whole and ours[0] == total and sorted(set(killed_at)) == killed_at
    print(f"{'bit-identical to' if same else 'DIFFERS FROM'} an uninterrupted run on {pes[0]} PEs", flush=True)
    return {
        "n": n, "variant": variant, "pes": list(pes), "killed_at": killed_at, "iterations": total, "same": same,
        "field": ours[1], "history": ours[2], "seconds": time.monotonic() - begin_s,
    }  # fmt: skip
