"""Compile every AllReduce kernel to the cache in parallel, before tests that would compile them one by one.

python3 tools/precompile.py 2,16              for 2 and for 16 PEs, for this machine's GPU
python3 tools/precompile.py 2 --dtypes int64  some dtypes only
python3 tools/precompile.py 2 --beyond        with NVSHMEM's puts (PENNYMPI_FORCE_NVSHMEM_PUT=1)
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


def compile_one(job):
    """One kernel, as ``allreduce.py`` asks for it.  Returns 1."""
    import numba.cuda.dispatcher

    from pennympi.bind import parameters
    from pennympi.collective import constants
    from pennympi.cuda.compile import cubin
    from pennympi.dtypes import TABLE as DTYPES
    from pennympi.kernels.allreduce import TABLE

    name, dtype_name, op, aligned, n_pes, beyond, cc = job
    # Numba asks the current device for this, and a context for each process would fill the GPU.
    numba.cuda.dispatcher.get_current_device = lambda: SimpleNamespace(compute_capability=cc)
    row, dtype = TABLE[name], DTYPES[dtype_name]
    fixed = constants(row.kernel, dtype, n_pes)
    kinds = "i" * (len(parameters(row.kernel)) - 1)
    cubin(row.kernel, f"allreduce ({name})", kinds, None, (dtype, op), fixed, beyond, aligned, cc)
    return 1


def main():
    import cupy

    from pennympi.dtypes import TABLE as DTYPES
    from pennympi.kernels.algorithm import Place
    from pennympi.kernels.allreduce import TABLE
    from pennympi.operators import NAMES

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pes", help="numbers of PEs, comma separated")
    parser.add_argument("--dtypes", default=",".join(DTYPES), help="some of them, comma separated")
    parser.add_argument("--beyond", action="store_true", help="kernels that reach peers by NVSHMEM's puts")
    args = parser.parse_args()
    facts = cupy.cuda.runtime.getDeviceProperties(0)
    cc = (facts["major"], facts["minor"])
    names = [row.name for row in TABLE.values() if not row.refuse(Place((0, 0), not args.beyond), "float32", "sum")]
    counts = [int(n) for n in args.pes.split(",")]
    kinds = itertools.product(names, args.dtypes.split(","), NAMES, (True, False), counts)
    jobs = [(*kind, args.beyond, cc) for kind in kinds]
    begin = time.monotonic()
    # Spawned, since a forked process can't use the CUDA that its parent has started.
    with ProcessPoolExecutor(os.cpu_count(), get_context("spawn")) as pool:
        done = sum(pool.map(compile_one, jobs, chunksize=4))
    print(f"{done} kernels in {time.monotonic() - begin:.0f} s")


if __name__ == "__main__":
    main()
