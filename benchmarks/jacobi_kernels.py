"""The solver's GPU kernels, compiled beforehand by as many processes as there are cores, into the library's cache.

python3 benchmarks/jacobi_kernels.py "[[nx, sweeps, nccheck], ...]"
"""

import json
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from types import SimpleNamespace

import mpi4py

mpi4py.rc.initialize = False  # nobody here talks to anybody, and there are many processes
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from apps.jacobi.norm.exact_sum import EDGE, WIDTH  # noqa: E402
from apps.jacobi.outcome import checked  # noqa: E402
from apps.jacobi.sweep import schedule  # noqa: E402
from apps.jacobi.variants.blocked import SIZES  # noqa: E402

DTYPE = "float32"


def passes(niter, nccheck):
    """(sweeps, norms) of all passes of such a solve, blocked and plain."""
    found, done = set(), 0
    while done < niter:
        due = [checked(k, nccheck, False) for k in range(done, min(niter, done + EDGE))]
        count = schedule.fit(due, SIZES)
        found.add((count, schedule.norms(due[:count])))
        done += count
    return found | {(1, "none"), (1, "last")}


def kernels(problems):
    """(text, bodies, nx) of all that problems (nx, sweeps, nccheck) launch; of those whose code is the same, one."""
    found = {}
    for nx, niter, nccheck in problems:
        texts = [("sweeps", (("march", 1, norms),)) for norms in ("none", "last")]
        texts += [("exchanging_sweeps", (("march", *one),)) for one in sorted(passes(niter, nccheck))]
        texts.append(("persistent_sweeps", (("march", 1, "none"), ("summed_march", 1, "last"))))
        for text in texts:
            found.setdefault((*text, (nx - 1) % WIDTH[DTYPE]), (*text, nx))
    return list(found.values())


def compile_one(job):
    """One kernel, as ``sweeper.compiled`` asks for it."""
    import numba.cuda.dispatcher

    from apps.jacobi.sweep import band, sweep
    from apps.jacobi.variants import persistent
    from pennympi.arrays.dtypes import TABLE
    from pennympi.compile.options import KernelOptions, LaunchBounds
    from pennympi.cuda.compile import Target, cubin

    name, bodies, nx, cc = job
    # Numba asks the current device for this, and a context for each process would fill the GPU.
    numba.cuda.dispatcher.get_current_device = lambda: SimpleNamespace(compute_capability=cc)
    text = sweep.bound(getattr(sweep, name), "cuda", bodies, DTYPE, nx)
    resident = persistent.RESIDENT if name == "persistent_sweeps" else band.RESIDENT[bodies[0][1]]
    options = KernelOptions(elements=TABLE[DTYPE], bounds=LaunchBounds(band.THREADS, resident))
    cubin(text, text.__name__, options, Target(cc))


def main():
    import cupy

    facts, begin = cupy.cuda.runtime.getDeviceProperties(0), time.monotonic()
    jobs = [(*one, (facts["major"], facts["minor"])) for one in kernels(json.loads(sys.argv[1]))]
    with ProcessPoolExecutor(min(len(jobs), os.cpu_count()), get_context("spawn")) as pool:
        list(pool.map(compile_one, jobs))
    print(f"{len(jobs)} kernels compiled in {time.monotonic() - begin:.0f} s", flush=True)


if __name__ == "__main__":
    main()
