"""Compile the solver's GPU kernels into the library's cache beforehand, with one process for each core.

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

mpi4py.rc.initialize = False  # these processes do not communicate
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from apps.jacobi.norm.exact_sum import LANE_COLUMNS, MAX_SWEEPS  # noqa: E402
from apps.jacobi.norms_due import checked  # noqa: E402
from apps.jacobi.sweep import schedule  # noqa: E402
from apps.jacobi.sweep.exchanging_kernel import exchanging_sweeps  # noqa: E402
from apps.jacobi.sweep.kernels import bound, sweeps  # noqa: E402
from apps.jacobi.sweep.persistent_kernel import persistent_sweeps  # noqa: E402
from apps.jacobi.variants.blocked import SIZES  # noqa: E402

DTYPE = "float32"


def passes(niter, nccheck):
    """(sweeps, norms) of all passes of a solve of ``niter`` sweeps, blocked and plain."""
    found, done = set(), 0
    while done < niter:
        due = [checked(k, nccheck, False) for k in range(done, min(niter, done + MAX_SWEEPS))]
        count = schedule.fit(due, SIZES)
        found.add((count, schedule.norms(due[:count])))
        done += count
    return found | {(1, "none"), (1, "last")}


def all_kernels(problems):
    """(kernel, bodies, nx) of all that problems (nx, sweeps, nccheck) launch, each machine code once."""
    found = {}
    for nx, niter, nccheck in problems:
        wanted = [(sweeps, (("march", 1, norms),)) for norms in ("none", "last")]
        wanted += [(exchanging_sweeps, (("march", *one),)) for one in sorted(passes(niter, nccheck))]
        wanted.append((persistent_sweeps, (("march", 1, "none"), ("summed_march", 1, "last"))))
        for one in wanted:
            found.setdefault((*one, (nx - 1) % LANE_COLUMNS[DTYPE]), (*one, nx))
    return list(found.values())


def compile_one(job):
    """Compile one kernel with the arguments that ``sweeper.compiled`` gives the library."""
    import numba.cuda.dispatcher

    from apps.jacobi.sweep.band import RESIDENT, THREADS_PER_BLOCK
    from apps.jacobi.variants import persistent
    from pennympi.arrays.dtypes import TABLE
    from pennympi.compile.options import KernelOptions, LaunchBounds
    from pennympi.cuda.compile import Target, cubin

    kernel, bodies, nx, cc = job
    # Numba asks the current device for this, and the contexts of all processes would fill the GPU.
    numba.cuda.dispatcher.get_current_device = lambda: SimpleNamespace(compute_capability=cc)
    resident = persistent.RESIDENT if kernel is persistent_sweeps else RESIDENT[bodies[0][1]]
    kernel = bound(kernel, "cuda", bodies, DTYPE, nx)
    options = KernelOptions(elements=TABLE[DTYPE], bounds=LaunchBounds(THREADS_PER_BLOCK, resident))
    cubin(kernel, kernel.__name__, options, Target(cc))


def main():
    import cupy

    facts, begin = cupy.cuda.runtime.getDeviceProperties(0), time.monotonic()
    jobs = [(*one, (facts["major"], facts["minor"])) for one in all_kernels(json.loads(sys.argv[1]))]
    with ProcessPoolExecutor(min(len(jobs), os.cpu_count()), get_context("spawn")) as pool:
        list(pool.map(compile_one, jobs))
    print(f"{len(jobs)} kernels compiled in {time.monotonic() - begin:.0f} s", flush=True)


if __name__ == "__main__":
    main()
