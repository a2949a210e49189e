"""NVIDIA's samples, which must have been built from their source in a folder.

jacobi: NAME/jacobi of github.com/NVIDIA/multi-gpu-programming-models.  It compares its field with that of one GPU, and
    prints its csv line only if they agree.  A name that ends in _staged is that sample, changed to send its rows through
    pinned memory, for an MPI that is not CUDA-aware.
cg: cg_double and cg_float, which nvidia_cg.py builds from conjugateGradientMultiBlockCG of NVIDIA/cuda-samples, for seven
    points of a cube and a fixed number of iterations.  They solve n^3, n the first argument, several times, and print
        cg, float or double, n, iterations, us an iteration (median), norm of the residual by recurrence, computed anew
"""

import math
import statistics
from pathlib import Path

from launching import run

JACOBI = (  # (name, options), those that are usually the fastest first
    ("single_gpu", ""),
    ("nccl_overlap", ""),
    ("nvshmem", "-norm_overlap -neighborhood_sync"),
    ("nccl_graphs", ""),
    ("mpi_overlap", "-use_hp_streams"),
    ("mpi_overlap_staged", "-use_hp_streams"),
)
EVERY_SWEEP_ONLY = ("single_gpu", "nvshmem")  # they refuse any other -nccheck than 1
ON_ONE = ("single_gpu", "nccl_overlap")
DIFFERENCE = {"double": 1e-9, "float": 1e-2}  # of the two norms at most, over the norm of the right-hand side
ITERATIONS, RUNS, LIMIT_S = 200, 3, 60.0


def jacobi(folder, ranks, nccheck):
    """[(name, program, options)] of the samples that are built and can run this case."""
    built = [(f"NVIDIA {name}", Path(folder).resolve() / name / "jacobi", name, options) for name, options in JACOBI]
    return [
        (f"{title} {options}".strip(), program, options.split())
        for title, program, name, options in built
        if program.is_file() and (nccheck == 1 or name not in EVERY_SWEEP_ONLY)
        if (name in ON_ONE if ranks == 1 else name != "single_gpu")
    ]


def on_one(folder, n, sweeps):
    """(name, us a sweep) of each of these on one GPU, of n x n points with a norm in every sweep."""
    for name, program, options in jacobi(folder, 1, 1):
        line = [program, "-csv", "-nx", n, "-ny", n, "-niter", sweeps, *options]
        yield name, 1e6 * statistics.median(csv_seconds(run(line, LIMIT_S)[1], n) for _ in range(RUNS)) / sweeps


def csv_seconds(text, n):
    """Seconds of a solve, from the csv line of a sample or of apps/jacobi.  Raises ValueError if there is none."""
    for fields in lines_of(text):
        if len(fields) in (6, 9) and fields[1] == str(n):
            return float(fields[5 if len(fields) == 6 else 7])
    raise ValueError(end_of(text))


def cg_us(text, n):
    """us of an iteration.  Raises ValueError if there is no such line, or the norms differ."""
    for fields in lines_of(text):
        if len(fields) == 7 and fields[0] == "cg" and fields[2] == str(n):
            us, found, anew = map(float, fields[4:])
            if not abs(found - anew) <= DIFFERENCE[fields[1]] * math.sqrt(n**3):
                raise ValueError(f"its residual is {anew}, and it believes {found}")
            return us
    raise ValueError(end_of(text))


def lines_of(text):
    """The fields of the lines of a csv text, the last line first."""
    return [[field.strip() for field in line.split(",")] for line in reversed(text.splitlines())]


def end_of(text):
    """What a program printed last."""
    return " / ".join(text.strip().splitlines()[-3:])[-300:] or "it printed nothing"


def conjugate_gradients(folder, sizes):
    """A row for each size and type that is built."""
    for n in sizes:
        for kind in DIFFERENCE:
            program = Path(folder).resolve() / f"cg_{kind}"
            if program.is_file():
                _, text = run([program, n, ITERATIONS, RUNS], LIMIT_S)
                yield {"variant": f"NVIDIA, {kind}", "n": n, "us": cg_us(text, n)}
