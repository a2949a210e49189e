"""Compile kernels of collectives into the cache in parallel, before tests that would compile them one by one.

python3 tools/precompile.py 2,16                               AllReduce for 2 and for 16 PEs, for this machine's GPU
python3 tools/precompile.py 2,4,8 --collectives all --dtypes int32 --ops sum   for tests/library/test_process_grid.py
python3 tools/precompile.py 2 --beyond                         with NVSHMEM's puts (PENNYMPI_FORCE_NVSHMEM_PUT=1)
"""

import argparse
import itertools
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from types import SimpleNamespace

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))


def classes():
    """{name: class} of the collectives."""
    from pennympi.collectives.allreduce import AllReduce
    from pennympi.collectives.calls import ALL

    return {one.name: one for one in (AllReduce, *ALL)}


def tables():
    """{collective: {algorithm: row}}; AllReduce's rows include those for plans."""
    from pennympi.collectives.allreduce import AllReduce
    from pennympi.kernels.allreduce import PLANNED

    found = {name: dict(one.table) for name, one in classes().items()}
    found[AllReduce.name] |= PLANNED
    return found


def compile_one(job):
    """Compile one kernel, with the same arguments as ``collectives/base.py``, into the cache.  Returns 1."""
    import numba.cuda.dispatcher

    from pennympi.arrays.dtypes import TABLE as DTYPES
    from pennympi.cuda.compile import Target, cubin

    collective, name, dtype_name, op, aligned, n_pes, beyond, cc = job
    # Numba would ask the current device, and the contexts of all these processes would fill the GPU.
    numba.cuda.dispatcher.get_current_device = lambda: SimpleNamespace(compute_capability=cc)
    row, dtype = tables()[collective][name], DTYPES[dtype_name]
    options = classes()[collective].options(row, dtype, op, n_pes, aligned)
    cubin(row.kernel, f"{collective} ({name})", options, Target(cc, beyond))
    return 1


def jobs_of(collectives, dtypes, ops, counts, beyond, cc):
    """The arguments of ``compile_one``.  Collectives that do not reduce move bytes, whatever the dtype."""
    from pennympi.kernels.algorithm import Place

    for collective in collectives:
        place = Place((0, 0), not beyond)
        rows = [row.name for row in tables()[collective].values() if not row.refuse(place, "float32", "sum")]
        reduces = collective in ("allreduce", "reduce", "reduce_scatter")
        kinds = itertools.product(dtypes, ops) if reduces else [("uint8", "")]
        for name, (dtype, op), aligned, n_pes in itertools.product(rows, list(kinds), (True, False), counts):
            yield collective, name, dtype, op, aligned, n_pes, beyond, cc


def main():
    import cupy

    from pennympi.arrays.dtypes import TABLE as DTYPES
    from pennympi.arrays.operators import NAMES

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pes", help="numbers of PEs, comma separated")
    parser.add_argument("--collectives", default="allreduce", help=f"all, or some of {', '.join(tables())}")
    parser.add_argument("--dtypes", default=",".join(DTYPES), help="some of them, comma separated")
    parser.add_argument("--ops", default=",".join(NAMES), help="some of them, comma separated")
    parser.add_argument("--beyond", action="store_true", help="kernels for peers that only NVSHMEM's puts reach")
    args = parser.parse_args()
    facts = cupy.cuda.runtime.getDeviceProperties(0)
    cc = (facts["major"], facts["minor"])
    collectives = list(tables()) if args.collectives == "all" else args.collectives.split(",")
    counts = [int(n) for n in args.pes.split(",")]
    jobs = list(jobs_of(collectives, args.dtypes.split(","), args.ops.split(","), counts, args.beyond, cc))
    begin = time.monotonic()
    # Spawned, because a forked process cannot use CUDA if its parent has started it.
    with ProcessPoolExecutor(os.cpu_count(), get_context("spawn")) as pool:
        done = sum(pool.map(compile_one, jobs, chunksize=4))
    print(f"{done} kernels in {time.monotonic() - begin:.0f} s")


if __name__ == "__main__":
    main()
