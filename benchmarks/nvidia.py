"""NVIDIA's samples, which must be built from their source in a folder.

NAME/jacobi of github.com/NVIDIA/multi-gpu-programming-models compares its field with that of one GPU, and prints its csv
line only if they agree.  A sample NAME_staged is NAME with a change: it sends rows through pinned memory, for an MPI
that is not CUDA-aware.
"""

import statistics
from pathlib import Path

from measure import run

JACOBI = (  # (name, options); the samples that are usually fastest come first
    ("single_gpu", ""),
    ("nccl_overlap", ""),
    ("nvshmem", "-norm_overlap -neighborhood_sync"),
    ("nccl_graphs", ""),
    ("mpi_overlap", "-use_hp_streams"),
    ("mpi_overlap_staged", "-use_hp_streams"),
)
EVERY_SWEEP_ONLY = ("single_gpu", "nvshmem")  # samples that accept only -nccheck 1
ON_ONE = ("single_gpu", "nccl_overlap")
RUNS, LIMIT_S = 3, 60.0


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
    """Yield (name, us of a sweep) of the samples on one GPU, for n x n points with a norm in every sweep."""
    for name, program, options in jacobi(folder, 1, 1):
        line = [program, "-csv", "-nx", n, "-ny", n, "-niter", sweeps, *options]
        yield name, 1e6 * statistics.median(csv_seconds(run(line, LIMIT_S)[1], n) for _ in range(RUNS)) / sweeps


def csv_seconds(text, n):
    """Seconds of a solve, from the csv line of a sample or of apps/jacobi.  Raises ValueError without such a line."""
    for fields in lines_of(text):
        if len(fields) in (6, 9) and fields[1] == str(n):
            return float(fields[5 if len(fields) == 6 else 7])
    raise ValueError(end_of(text))


def lines_of(text):
    """The fields of the lines of a csv text, the last line first."""
    return [[field.strip() for field in line.split(",")] for line in reversed(text.splitlines())]


def end_of(text):
    """The last lines of a program's output."""
    return " / ".join(text.strip().splitlines()[-3:])[-300:] or "it printed nothing"
